package views

import (
	"net/url"

	"parkade"
)

// Ending is one outcome of an operation that can be retried.
type Ending struct {
	Outcome  parkade.Outcome
	Messages int64
	Ticked   bool
}

func (f Ending) words() string {
	switch f.Outcome {
	case parkade.Unroutable:
		return "unroutable: no queue was bound there."
	case parkade.Nacked:
		return "nacked: the queue didn’t take them."
	case parkade.Refused:
		return "refused: certainly not sent."
	case parkade.NotSent:
		return "never sent, because it was cancelled."
	case parkade.Unknown:
		return "unknown."
	case parkade.Intent, parkade.Confirmed:
	}
	return string(f.Outcome)
}

// undelivered is how many messages of an operation certainly didn't arrive, and
// are free to be taken up again.
func (o OperationView) undelivered() int64 {
	n := o.Counts[parkade.Unroutable] + o.Counts[parkade.Nacked] + o.Counts[parkade.Refused]
	if o.State.Ended() {
		n += o.Counts[parkade.NotSent] + o.Left
	}
	return n
}

func (o OperationView) canRetry() bool {
	return sends(o.Operation) && o.undelivered()+o.Counts[parkade.Unknown] > 0 && o.State != parkade.Scheduled && !o.canPause()
}

// retryPath opens the form with all ticked that certainly didn't arrive.
func (o OperationView) retryPath() string {
	q := url.Values{"retry": {o.ID.String()}}
	for _, outcome := range []parkade.Outcome{parkade.Unroutable, parkade.Nacked, parkade.Refused, parkade.NotSent} {
		if o.Counts[outcome] > 0 || outcome == parkade.NotSent && o.State.Ended() && o.Left > 0 {
			q.Add("outcome", string(outcome))
		}
	}
	return "/" + string(o.Verb) + "?" + q.Encode()
}

func csvPath(id parkade.OperationID, outcome string) string {
	path := operationPath(id) + "/replays.csv"
	if outcome != "" {
		path += "?" + url.Values{"outcome": {outcome}}.Encode()
	}
	return path
}

// listPath returns the address of the operations before one, 0 for the newest.
func (o Operations) listPath(before parkade.OperationID, everything bool) string {
	q := url.Values{}
	if before != 0 {
		q.Set("before", before.String())
	}
	if everything {
		q.Set("dismissed", "yes")
	}
	if len(q) == 0 {
		return "/operations"
	}
	return "/operations?" + q.Encode()
}
