package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parkade/replay"
)

// ofSample begins what was seen of a plan that is only a sample.
const ofSample = "sample "

// seenOf says what a plan that is shown would do: a hash of all of it, or of a
// sample how many match and each kind of thing that would happen.
func seenOf(p replay.Plan) string {
	if p.Of > 0 {
		return fmt.Sprintf("%s%d %s", ofSample, p.Of, strings.Join(kindsOf(p), " "))
	}
	return hashOf(p.Hash, p.Items, p.Policy)
}

// stands reports whether a whole plan does what was seen. Of a sample, as many have
// to match as were counted, and nothing may happen that it didn't show.
func stands(p replay.Plan, seen string) bool {
	rest, sample := strings.CutPrefix(seen, ofSample)
	if !sample {
		return seenOf(p) == seen
	}
	words := strings.Fields(rest)
	if len(words) == 0 || words[0] != strconv.Itoa(len(p.Items)) {
		return false
	}
	return !slices.ContainsFunc(kindsOf(p), func(kind string) bool { return !slices.Contains(words[1:], kind) })
}

// kindsOf is a short hash of each kind of thing that a plan does: from which queue
// to which target, with which policy, and why others are left out.
func kindsOf(p replay.Plan) []string {
	var kinds []string
	add := func(parts ...any) { kinds = append(kinds, hashOf(parts...)[:16]) }
	for _, g := range p.Groups {
		if g.Chosen == nil {
			add(g.Queue, g.Why)
			continue
		}
		add(g.Queue, g.Origin, g.Chosen.Target, g.Chosen.Reaches, g.Chosen.Warnings, g.Guess, p.Policy)
	}
	for _, s := range p.Skips {
		add(s.Why)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func hashOf(parts ...any) string {
	text, _ := json.Marshal(parts) // plain values
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
