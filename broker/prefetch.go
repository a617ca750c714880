package broker

import "parkade"

// Bounds of the prefetch. RabbitMQ can't bound bytes, so the number of messages
// does, and follows their size.
const (
	firstPrefetch = 64
	mostPrefetch  = 1000
)

// FirstPrefetch returns the prefetch of a new session, from the average size of a
// message in the queue; 0 is not known, and starts with one message.
func FirstPrefetch(budget, average int64) int {
	if average <= 0 {
		return 1
	}
	return int(min(max(budget/average, 1), firstPrefetch))
}

// NextPrefetch returns the prefetch of the next cycle: as many messages as the
// largest of this batch fits into budget, at most double of now.
func NextPrefetch(budget, average int64, now int, batch []parkade.Delivery) int {
	largest := max(average, 1)
	for _, d := range batch {
		largest = max(largest, int64(len(d.Body)))
	}
	return int(min(max(budget/largest, 1), int64(2*now), mostPrefetch))
}
