package broker

import (
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"parkade"
)

// longestBlock is how long a publisher waits for the end of an alarm.
const longestBlock = 10 * time.Minute

// collector says of each flight what became of it. It is the only reader of
// confirms and returns: RabbitMQ sends a return before the confirm of the same
// message, so emptying the returns after each confirm and before deciding is exact.
type collector struct {
	*Publisher
	waiting  []*flight         // in order, taken out of flights
	returned map[string]string // by stamp: the broker's words
	reason   *amqp.Error       // why the channel ended, once that is known
	why      string            // why we cut the connection, if we did
	beat     *time.Ticker
}

// collect settles flights until the channel is over.
func (p *Publisher) collect() {
	c := &collector{Publisher: p, returned: map[string]string{}, beat: time.NewTicker(p.timeout / 20)}
	defer c.beat.Stop()
	defer close(p.results)
	for c.next() {
		f := c.waiting[0]
		c.await(f.written)
		if f.err == nil {
			c.await(f.confirm.Done())
		}
		c.emptyReturns()
		r, settled := c.verdict(f)
		if !settled {
			break
		}
		c.waiting = c.waiting[1:]
		c.tell(r)
	}
	c.end()
}

// next waits for a flight, and reports false where the channel ended without one.
func (c *collector) next() bool {
	if len(c.waiting) > 0 {
		return true
	}
	select {
	case f := <-c.flights:
		c.waiting = append(c.waiting, f)
		return true
	case c.reason = <-c.closed:
		return false
	}
}

// await waits for done, and cuts the connection when there has been no confirm
// for too long. The clock stands still while RabbitMQ takes nothing. The client
// library closes done of every message when the connection ends.
func (c *collector) await(done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	quiet, seen := time.Duration(0), 0
	for {
		select {
		case <-done:
			return
		case f := <-c.flights:
			c.waiting = append(c.waiting, f)
		case <-c.beat.C:
			if since, _, blocked := c.blocking.state(); blocked {
				if time.Since(since) > longestBlock {
					c.giveUp(fmt.Sprintf("RabbitMQ took no messages for %s", longestBlock))
				}
				continue
			}
			if n := c.confirms(); n != seen {
				quiet, seen = 0, n
				continue
			}
			if quiet += c.timeout / 20; quiet >= c.timeout {
				c.giveUp(fmt.Sprintf("RabbitMQ confirmed nothing for %s", c.timeout))
			}
		}
	}
}

func (c *collector) giveUp(why string) {
	if c.why == "" {
		c.why = why
	}
	c.session.cut()
}

// confirms counts the waiting flights that are confirmed already, out of order.
func (c *collector) confirms() (n int) {
	for _, f := range c.waiting {
		select {
		case <-f.written:
		default:
			continue
		}
		if f.err == nil && f.confirm.Acked() {
			n++
		}
	}
	return n
}

func (c *collector) emptyReturns() {
	for {
		select {
		case r, ok := <-c.returns:
			if !ok {
				return
			}
			stamp, _ := r.Headers[parkade.ReplayIDHeader].(string)
			c.returned[stamp] = r.ReplyText
		default:
			return
		}
	}
}

// verdict says what became of a flight whose confirm is in, and false where the
// channel ended before it came.
func (c *collector) verdict(f *flight) (parkade.Result, bool) {
	r := parkade.Result{Replay: f.send.Replay, Outcome: parkade.Confirmed}
	switch {
	case f.err == nil && f.confirm.Acked():
		c.broker.took(int64(len(f.send.Draft.Body)))
		if words, ok := c.returned[f.send.Stamp]; ok {
			delete(c.returned, f.send.Stamp)
			r.Outcome, r.Why = parkade.Unroutable, "No queue is bound there: RabbitMQ returned it ("+words+")."
		}
	case f.err != nil || c.channel.IsClosed():
		return r, false // what looks like a nack is the end of the channel
	case f.send.Draft.Exchange == "":
		r.Outcome, r.Why = parkade.Nacked, "The queue refused it: it is full, or failing."
	default:
		r.Outcome, r.Why = parkade.Unknown, "At least one queue refused it, full or failing; others may have it."
	}
	return r, true
}

// end settles all that is left once the channel is over or unusable.
func (c *collector) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	for len(c.flights) > 0 {
		c.waiting = append(c.waiting, <-c.flights)
	}
	if !c.channel.IsClosed() { // a write failed: no confirm can be trusted to come
		c.session.cut()
	}
	for _, f := range c.waiting {
		c.await(f.written)
		if f.err == nil {
			c.await(f.confirm.Done())
		}
	}
	if c.reason == nil {
		select {
		case c.reason = <-c.closed:
		default:
		}
	}
	c.broker.heed(c.reason)
	c.emptyReturns()
	alone := c.unconfirmed() == 1
	for _, f := range c.waiting {
		r, settled := c.verdict(f)
		if !settled {
			r.Outcome, r.Why = c.lost(alone)
		}
		c.tell(r)
	}
	c.session.cut()
}

func (c *collector) unconfirmed() (n int) {
	for _, f := range c.waiting {
		if f.err != nil || !f.confirm.Acked() {
			n++
		}
	}
	return n
}

// lost says what the end of the channel means for an unconfirmed message. RabbitMQ
// doesn't say which message it closed a channel for: only one that was alone is
// known not to have arrived.
func (c *collector) lost(alone bool) (parkade.Outcome, string) {
	refusal := c.reason != nil && c.reason.Server &&
		(c.reason.Code == amqp.AccessRefused || c.reason.Code == amqp.NotFound || c.reason.Code == amqp.PreconditionFailed)
	switch {
	case c.why != "":
		return parkade.Unknown, c.why + ", so we cut the connection."
	case refusal && alone && !c.session.conn.IsClosed():
		return parkade.Refused, "RabbitMQ refused it: " + brokerWords(c.reason) + "."
	case refusal:
		return parkade.Unknown, "RabbitMQ refused this message, or another one that was on its way with it: " + brokerWords(c.reason) + "."
	case c.reason != nil && c.reason.Server:
		return parkade.Unknown, "RabbitMQ ended the connection before it confirmed: " + brokerWords(c.reason) + "."
	}
	return parkade.Unknown, "The connection was lost before RabbitMQ confirmed."
}

func (c *collector) tell(r parkade.Result) {
	c.results <- r
	<-c.slots
}
