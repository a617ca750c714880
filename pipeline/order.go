package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Order is the body of an order.placed message.
type Order struct {
	ID       int64     `json:"order_id"` // beyond 2^53, so that a reader which takes numbers for floats shows
	PlacedAt time.Time `json:"placed_at"`
	Customer Customer  `json:"customer"`
	Currency string    `json:"currency"`
	Lines    []Line    `json:"lines"`
	Total    int64     `json:"total_cents"`
}

// Customer is who gets the invoice.
type Customer struct {
	ID    int64   `json:"id"`
	Name  string  `json:"name"`
	Email *string `json:"email"`
}

// Line is one position of an order.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    int64  `json:"unit_price_cents"`
}

// failure is why an order could not be handled, or never will be. Its parts
// become headers of a parked message, so that equal failures can be grouped.
type failure struct{ kind, message string }

func (f *failure) Error() string { return f.kind + ": " + f.message }

// billable says what stops o from being invoiced as billing works today. The
// rules are the fault that waits for a fix; an order that is corrected by hand
// passes them too.
func (o Order) billable() error {
	var total int64
	for _, l := range o.Lines {
		total += l.Quantity * l.Price
	}
	switch {
	case o.Customer.Email == nil:
		return &failure{"ValidationError", "customer.email must not be null"}
	case !slices.Contains([]string{"EUR", "GBP", "USD"}, o.Currency):
		return &failure{"UnknownCurrencyError", "no exchange rate for " + o.Currency}
	case total != o.Total:
		return &failure{"TotalMismatchError", fmt.Sprintf("the lines add up to %d cents, the order says %d", total, o.Total)}
	}
	return nil
}

// spoil gives o one of the faults that billable stumbles over, the missing
// address most often.
func (o *Order) spoil() {
	switch n := rand.N(10); {
	case n < 6:
		o.Customer.Email = nil
	case n < 9:
		o.Currency = "CHF"
	default:
		o.Total++
	}
}

// newOrder makes up an order that can be invoiced.
func newOrder(now time.Time) Order {
	names := []string{"Ada Byron", "Grace Hopper", "Zoë Müller", "Łukasz Nowak", "山田 花子"}
	goods := []string{"TEA-GREEN-100", "CUP-STONE-2", "KETTLE-STEEL", "SCALE-POCKET"}
	who := rand.N(len(names))
	email := fmt.Sprintf("customer%d@example.com", who+1)
	o := Order{
		// Milliseconds, then 22 random bits, the last of them set: no float64 can hold it.
		ID:       now.UnixMilli()<<22 | rand.N(int64(1)<<22) | 1,
		PlacedAt: now.UTC().Truncate(time.Millisecond),
		Customer: Customer{ID: int64(who + 1), Name: names[who], Email: &email},
		Currency: []string{"EUR", "GBP", "USD"}[rand.N(3)],
	}
	for range 1 + rand.N(3) {
		l := Line{SKU: goods[rand.N(len(goods))], Quantity: 1 + rand.N(int64(4)), Price: 495 + 100*rand.N(int64(60))}
		o.Lines = append(o.Lines, l)
		o.Total += l.Quantity * l.Price
	}
	return o
}
