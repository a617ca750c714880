package views

import "slices"

// delay is one choice of when an operation leaves.
type delay struct{ value, words string }

// delays are the choices that a form has.
func delays(chosen string) []delay {
	all := []delay{
		{"0s", "at once"},
		{"10s", "10 s after you press"},
		{"1m", "1 min after you press"},
		{"10m", "10 min after you press"},
		{"1h", "1 h after you press"},
	}
	if !slices.ContainsFunc(all, func(d delay) bool { return d.value == chosen }) && chosen != "" {
		all = append(all, delay{chosen, chosen + " after you press"})
	}
	return all
}
