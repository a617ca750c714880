package parkade

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MessageID identifies one arrival in a parking queue, for ever.
type MessageID int64

func (id MessageID) String() string { return strconv.FormatInt(int64(id), 10) }

// State is where a message stands.
type State string

// The states of a message.
const (
	Parked      State = "parked"       // undecided, stored here
	InOperation State = "in operation" // held by exactly one operation
	InDoubt     State = "in doubt"     // the outcome of its last replay is unknown
	Replayed    State = "replayed"     // RabbitMQ confirmed its replay
	GivenBack   State = "given back"   // put again into its parking queue
	Resolved    State = "resolved"     // closed by hand
	Discarded   State = "discarded"    // undoable until its retention ends
)

// States lists all states, undecided ones first.
func States() []State {
	return []State{Parked, InDoubt, InOperation, Replayed, GivenBack, Resolved, Discarded}
}

// Undecided reports whether somebody still has to decide about the message.
// Retention never touches it.
func (s State) Undecided() bool { return s == Parked || s == InDoubt || s == InOperation }

// Message is one arrival in a parking queue, as lists show it. What arrived never
// changes; Content and the body are read apart.
type Message struct {
	ID            MessageID
	Queue         Queue
	State         State
	Version       int64   // the newest; 1 is what arrived, and every edit is one more
	Wrapper       Wrapper // the framework's error wrapper that it arrived in, or ""
	Exchange      string
	RoutingKey    string
	MessageID     string
	CorrelationID string
	Type          string
	ContentType   string
	Origin        *Origin // nil where neither its deaths nor an earlier round tell
	Reason        string  // a death's reason, or ""
	Exception     string  // what its headers say went wrong, or ""
	Attempts      Attempts
	Size          int64 // of the body, in bytes
	BodyHash      [32]byte
	ParkedAt      time.Time // when it was stored here
	ChangedAt     time.Time // when its state last changed
	ExpiresAt     time.Time // when retention removes it; zero while undecided

	Redelivered bool      // RabbitMQ had handed it out before
	SeenAgain   int64     // how often a redelivered copy was recognised as this one
	CopyOf      MessageID // not 0: it may be the same arrival as that message
	LastChance  bool      // its queue destroys it at the next lost delivery

	Round         int64     // 1, and one more for each time it came back
	Previous      MessageID // the earlier round, or 0
	CameFrom      ReplayID  // the replay whose stamp it carries, or 0
	ForeignReplay string    // the stamp of another store's replay, or ""

	Replays     int64    // how often it was sent from here
	LastReplay  ReplayID // or 0
	LastOutcome Outcome  // of LastReplay, or ""
	CameBack    bool     // its last replay came back as another message
	Operation   OperationID
}

// oneLine cuts s to one line of at most 300 bytes of valid UTF-8.
func oneLine(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= 300 {
		return s
	}
	s = s[:297]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
