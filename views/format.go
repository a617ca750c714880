package views

import (
	"strconv"
	"strings"
	"time"
)

// Number writes n with commas between its thousands.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Count is a number of things, with the word for one or for many of them.
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// AtLeast is a number that counting may have stopped at.
func AtLeast(n int64, exact bool) string {
	if exact {
		return Number(n)
	}
	return Number(n) + "+"
}

// Size writes a number of bytes.
func Size(n int64) string {
	const unit = 1024
	if n < 10_000 {
		return Number(n) + " B"
	}
	v := float64(n)
	for _, name := range []string{"KiB", "MiB", "GiB"} {
		if v /= unit; v < unit {
			return strconv.FormatFloat(v, 'f', 1, 64) + " " + name
		}
	}
	return strconv.FormatFloat(v/unit, 'f', 1, 64) + " TiB"
}

// Age writes how long something has lasted, in at most two units. static/js says
// the same in the browser as time goes on.
func Age(d time.Duration) string {
	d = max(0, d)
	days, hours := int(d/(24*time.Hour)), int(d.Hours())%24
	minutes, seconds := int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case d < time.Minute:
		return units(seconds, "s", 0, "")
	case d < 10*time.Minute:
		return units(minutes, "min", seconds, "s")
	case d < time.Hour:
		return units(minutes, "min", 0, "")
	case d < 24*time.Hour:
		return units(hours, "h", minutes, "min")
	case d < 7*24*time.Hour:
		return units(days, "d", hours, "h")
	}
	return units(days, "d", 0, "")
}

func units(n int, unit string, m int, second string) string {
	s := strconv.Itoa(n) + " " + unit
	if m > 0 {
		s += " " + strconv.Itoa(m) + " " + second
	}
	return s
}

// Moment writes a time in full, with its zone.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func clock(now, t time.Time) string {
	if now.UTC().Format(time.DateOnly) == t.UTC().Format(time.DateOnly) {
		return t.UTC().Format(time.TimeOnly)
	}
	return t.UTC().Format("2 Jan 2006 15:04:05")
}
