package drain

import (
	"context"
	"fmt"
	"time"

	"parkade"
)

// How often a drain looks whether there is still room on the disk, and whether a
// store that failed works again.
const (
	diskEvery  = 10 * time.Second
	probeEvery = 5 * time.Second
)

// storeReady returns a halt while the store can't be relied on to take messages.
func (w *worker) storeReady(ctx context.Context) error {
	if err := w.roomOnDisk(ctx); err != nil {
		return err
	}
	if err := w.store.Probe(ctx); err != nil {
		return storeFails(err)
	}
	return nil
}

func (w *worker) roomOnDisk(ctx context.Context) error {
	stats, err := w.store.Stats(ctx)
	if err != nil {
		return storeFails(err)
	}
	least := w.minFree
	if least == 0 {
		least = max(1<<30, stats.TotalDisk/20)
	}
	if stats.FreeDisk >= least {
		return nil
	}
	return &halt{
		parkade.Held,
		fmt.Sprintf("The disk that the store is on has %s free, and draining needs %s. The messages are safe in RabbitMQ.", size(stats.FreeDisk), size(least)),
		"Make room on that disk.", diskEvery,
	}
}

// watchDisk ends a session with a halt as soon as the disk is nearly full.
func (w *worker) watchDisk(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.roomOnDisk(ctx); err != nil && ctx.Err() == nil {
				end(err)
				return
			}
		}
	}
}

// storeFails says that the store takes nothing at the moment.
func storeFails(err error) *halt {
	return &halt{parkade.Held, "The store can't take messages: " + reason(err), "Look at the disk that the store is on.", probeEvery}
}

// reason returns the sentence that an error has for a person, else its text.
func reason(err error) string {
	kind, sentence := parkade.Explain(err)
	if kind != parkade.Internal {
		return sentence
	}
	return err.Error() + "."
}

func size(bytes int64) string {
	const mib = 1 << 20
	if bytes < 1024*mib {
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1024*mib))
}
