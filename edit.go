package parkade

import "time"

// Versions of a message that no person made. Edits are versions 2 and later;
// Message.Version is the newest.
const (
	Unwrapped int64 = 0 // what is in a framework's error wrapper, where Message.Wrapper says that it has one
	Arrived   int64 = 1 // as it arrived, which never changes
)

// Sends returns the version that a replay sends unless a person says otherwise:
// the newest edit, else what is in a wrapper, else what arrived.
func (m Message) Sends() int64 {
	if m.Version == Arrived && m.Wrapper != "" {
		return Unwrapped
	}
	return m.Version
}

// Edit is one version of a message: what a person made of an earlier one, or one
// of those that no person made. It never changes.
type Edit struct {
	Message  MessageID
	Version  int64
	Base     int64  // the version that it was made from
	By       string // "" for those that no person made
	At       time.Time
	Note     string
	Draft    Draft // its exchange and key are where the person wanted it, and only a suggestion
	BodyHash [32]byte
	Size     int64 // of the body, in bytes
}
