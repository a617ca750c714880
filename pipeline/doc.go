// Package pipeline is a reference for reliable messaging on RabbitMQ, small
// enough to be read in one sitting: it is the traffic that the demo and the
// end-to-end tests use, and an example to copy from.
//
// Billing is one system: orders are placed by a producer, turned into invoices
// by a consumer, tried again after a pause when that fails, and parked for a
// person when it has failed five times. Each part stands in a file of its own,
// with the reason beside each choice; docs/pipeline.md shows them together and
// says what happens when the process dies between any two of its steps.
//
// The shop is a second, smaller one: it takes orders over HTTP, has no database,
// counts its attempts itself, and leaves what is hopeless to a dead-letter queue.
// Its files begin with shop.
//
// A database of billing's holds what must not be lost or done twice: orders and invoices, the
// outbox of messages that are to be published, and the ids of those that were
// handled. The package imports nothing of Parkade, so that it can be copied.
package pipeline
