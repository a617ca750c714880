package broker

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// Intake takes messages out of one queue over one connection and channel, one
// cycle after the other: Collect, then what was collected is stored, then Ack,
// then Prove. It never gives a message back. After any error it is over, and a
// new one is opened. It belongs to one goroutine.
type Intake struct {
	broker  string
	queue   string
	ownTag  string
	session *session
	channel *amqp.Channel
	closed  chan *amqp.Error
	last    uint64 // delivery tag of what Collect took last; 0: nothing
}

// Cycle bounds the collecting of one cycle: whichever is reached first ends it.
type Cycle struct {
	Messages int           // the prefetch that is in force
	Bytes    int64         // of bodies and headers; 0 is no limit
	MaxBody  int64         // a longer body is a TooBigError; 0 is no limit
	Linger   time.Duration // without a further message
	Longest  time.Duration // since the first message
	Careful  bool          // on a loss, return what is in hand with the error

	// Delivered, where not nil, is called between the last delivery and the cancel.
	Delivered func()
}

// OpenIntake connects and prepares for at most prefetch unacknowledged messages
// (step 0). The heartbeat bounds how long the broker holds messages for a client
// that died.
func (b *Broker) OpenIntake(ctx context.Context, vhost, queue string, prefetch int, heartbeat time.Duration) (*Intake, error) {
	s, err := b.dial(ctx, vhost, b.connectionName("drain "+queue), heartbeat)
	if err != nil {
		return nil, err
	}
	i := &Intake{broker: b.cfg.Name, queue: queue, ownTag: b.ownTag(), session: s, closed: make(chan *amqp.Error, 1)}
	err = s.call(func() (err error) {
		if i.channel, err = s.conn.Channel(); err != nil {
			return err
		}
		i.channel.NotifyClose(i.closed)
		return i.channel.Qos(prefetch, 0, false)
	})
	if err != nil {
		return nil, i.fail(err)
	}
	return i, nil
}

// Collect consumes until a limit is reached, and stops consuming (steps 2 to 4):
// what it returns is all that was delivered, in order, and nothing more is on its
// way. It waits for the first message as long as ctx lasts; at the end of ctx it
// returns what has come until then, perhaps nothing. The consumer's tag tells that
// it is of this store, and ends in name, which is new every time.
func (i *Intake) Collect(ctx context.Context, name string, l Cycle) ([]parkade.Delivery, error) {
	i.last = 0
	i.session.wire.forget()
	tag := i.ownTag + name
	var deliveries <-chan amqp.Delivery
	err := i.session.call(func() (err error) {
		deliveries, err = i.channel.Consume(i.queue, tag, false, false, false, false, nil)
		return err
	})
	if err != nil {
		return nil, i.fail(err)
	}
	batch, over := i.gather(ctx, deliveries, l)
	if over {
		return i.inHand(batch, l), i.fail(nil)
	}
	if l.Delivered != nil && len(batch) > 0 {
		l.Delivered()
	}
	if err := i.session.call(func() error { return i.channel.Cancel(tag, false) }); err != nil {
		return i.inHand(batch, l), i.fail(err)
	}
	for d := range deliveries {
		batch = append(batch, d)
	}
	if i.channel.IsClosed() {
		return i.inHand(batch, l), i.fail(nil)
	}
	for _, d := range batch {
		if size := int64(len(d.Body)); l.MaxBody > 0 && size > l.MaxBody {
			i.session.cut()
			return nil, &TooBigError{Bytes: size}
		}
	}
	return i.take(batch), nil
}

// gather reads deliveries until a limit or the end of ctx, and reports whether
// the consumer was ended by somebody else.
func (i *Intake) gather(ctx context.Context, deliveries <-chan amqp.Delivery, l Cycle) (batch []amqp.Delivery, over bool) {
	var bytes int64
	var quiet, longest <-chan time.Time
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return batch, true
			}
			batch = append(batch, d)
			if bytes += sizeOf(d); len(batch) >= l.Messages || l.Bytes > 0 && bytes >= l.Bytes {
				return batch, false
			}
			if longest == nil {
				longest = time.After(l.Longest)
			}
			pause.Reset(l.Linger)
			quiet = pause.C
		case <-quiet:
			return batch, false
		case <-longest:
			return batch, false
		case <-ctx.Done():
			return batch, false
		}
	}
}

func (i *Intake) take(batch []amqp.Delivery) []parkade.Delivery {
	if len(batch) > 0 {
		i.last = batch[len(batch)-1].DeliveryTag
	}
	return i.read(batch)
}

// inHand is what a lost session leaves: nothing, but for a careful drain.
func (i *Intake) inHand(batch []amqp.Delivery, l Cycle) []parkade.Delivery {
	if !l.Careful {
		return nil
	}
	return i.read(batch)
}

func (i *Intake) read(batch []amqp.Delivery) []parkade.Delivery {
	all := make([]parkade.Delivery, len(batch))
	for n, empty := range i.session.wire.take(len(batch)) {
		all[n] = readDelivery(batch[n])
		empty.addTo(&all[n].Properties)
	}
	return all
}

// Ack acknowledges all of the last Collect (step 6). RabbitMQ doesn't answer, so
// nothing is certain before Prove.
func (i *Intake) Ack() error {
	if i.last == 0 {
		return nil
	}
	if err := i.session.call(func() error { return i.channel.Ack(i.last, true) }); err != nil {
		return i.fail(err)
	}
	return nil
}

// Prove sets the prefetch of the next cycle (step 7). Its answer proves that
// RabbitMQ handled the Ack before it.
func (i *Intake) Prove(prefetch int) error {
	if err := i.session.call(func() error { return i.channel.Qos(prefetch, 0, false) }); err != nil {
		return i.fail(err)
	}
	return nil
}

// Close ends the session in good order, by the deadline at the latest. What
// wasn't acknowledged goes back into the queue.
func (i *Intake) Close(deadline time.Time) { i.session.close(deadline) }

// fail cuts the connection and says why the session is over.
func (i *Intake) fail(err error) error {
	var reason *amqp.Error
	select {
	case reason = <-i.closed:
	default:
	}
	i.session.cut()
	return i.lost(reason, err)
}
