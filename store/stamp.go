package store

import (
	"encoding/base32"
	"strconv"
	"strings"

	"parkade"
)

//nolint:gochecknoglobals // a constant: 13 letters and digits for the 8 bytes of an epoch
var stampEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// stamp returns the value of x-replay-id for a replay of the run with that epoch.
func stamp(epoch []byte, id parkade.ReplayID) string {
	return stampEncoding.EncodeToString(epoch) + "-" + id.String()
}

// parseStamp is the inverse of stamp, and false for a header that some other
// program made.
func parseStamp(text string) (epoch []byte, id parkade.ReplayID, ok bool) {
	head, tail, found := strings.Cut(text, "-")
	epoch, err := stampEncoding.DecodeString(head)
	if !found || err != nil || len(epoch) != len(run{}.epoch) {
		return nil, 0, false
	}
	n, err := strconv.ParseInt(tail, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != tail {
		return nil, 0, false
	}
	return epoch, parkade.ReplayID(n), true
}
