package views

import (
	"parkade"
)

// DrainForm asks what is to be done with the drain of a queue.
type DrainForm struct {
	Shell

	Queue    parkade.Queue
	Drain    QueueRow
	Findings []parkade.Finding
	Sheet    bool // it is shown above another page

	// As typed, where the form is shown again.
	Accept  bool
	Count   string
	Reason  string
	Problem string // why it is shown again
}

// asks reports whether the findings need a person to say "in spite of that".
func (f DrainForm) asks() bool { return parkade.Worst(f.Findings) == parkade.Ask }

// refused reports whether the queue can't be drained as it is.
func (f DrainForm) refused() bool { return parkade.Worst(f.Findings) == parkade.Refuse }

// number is how many messages are there to be taken, where that is known.
func (f DrainForm) number() string {
	if f.Drain.Ready.Known() && !readingStale(f.Now, f.Drain.Drain) {
		return Count(f.Drain.Ready.Value, "message", "messages")
	}
	return "all messages"
}

// BrakeForm asks whether all draining is to stop, or to go on.
type BrakeForm struct {
	Shell

	Running []parkade.Drain // what the brake stops
	Wanted  []parkade.Queue // what goes on when it is released
	Sheet   bool
}

func brakeTitle(f BrakeForm) string {
	if f.Brake.On {
		return "Release the brake"
	}
	return "Stop all draining"
}

func drainedQueues(all []parkade.Drain) []parkade.Queue {
	queues := make([]parkade.Queue, len(all))
	for i, d := range all {
		queues[i] = d.Queue
	}
	return queues
}
