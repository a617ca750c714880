package broker

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"parkade"
)

// Candidate is a queue that looks like a parking queue. Figures are a few seconds
// old; -1 is not known.
type Candidate struct {
	Queue     parkade.Queue
	Type      string
	Ready     int64
	Consumers int64
}

// Candidates finds likely parking queues in all vhosts that the login may see.
func (b *Broker) Candidates(ctx context.Context) ([]Candidate, error) {
	pattern := likely(parkade.LikelyParking())
	queues, err := b.queues(ctx, "", url.Values{"name": {pattern}, "use_regex": {"true"}})
	if err != nil {
		return nil, err
	}
	ours, err := regexp.Compile(pattern) // the broker's own idea of a match may be wider
	if err != nil {
		return nil, err
	}
	var found []Candidate
	for _, q := range queues {
		if bool(q.Exclusive) || !ours.MatchString(q.Name) {
			continue
		}
		l := q.listing()
		found = append(found, Candidate{
			Queue: parkade.Queue{Broker: b.cfg.Name, Vhost: l.Vhost, Name: l.Name},
			Type:  l.Type, Ready: l.Ready, Consumers: l.Consumers,
		})
	}
	return found, nil
}

// likely is one regular expression for all patterns, in which * is anything. The
// management API takes one of at most 1024 characters.
func likely(patterns []string) string {
	quoted := make([]string, len(patterns))
	for i, p := range patterns {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*")
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
