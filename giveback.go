package parkade

// Return prepares what arrived for being given back: published to its parking
// queue, through the default exchange, as it was. Only what the broker owns, what
// it would refuse and what would lose or multiply the message is changed; the
// stamp lets this store know it again when it is drained once more.
func Return(c Content, queue, stamp string) (Content, []Treatment) {
	out := Content{RoutingKey: queue, Properties: c.Properties}
	var lines []Treatment
	for _, l := range prepareProperties(&out.Properties) {
		if l.Name == "expiration" {
			l.Why = "it would expire in the parking queue, and be lost"
		}
		if l.Name == "reply_to" {
			l.Why = ""
		}
		lines = append(lines, l)
	}
	for _, f := range c.Headers {
		switch why := brokerOwned(f.Name); {
		case f.Name == ReplayIDHeader:
		case why != "":
			lines = append(lines, Treatment{f.Name, true, Stripped, why})
		default:
			lines = append(lines, Treatment{f.Name, true, Kept, ""})
			out.Headers = append(out.Headers, f)
		}
	}
	out.Headers = out.Headers.With(ReplayIDHeader, stamp)
	return out, append(lines, Treatment{ReplayIDHeader, true, Stamped, "so that this store knows it again when it is drained once more"})
}

// brokerOwned says why not even what is given back keeps the header called name.
func brokerOwned(name string) string {
	switch name {
	case DeliveryCount, AcquiredCount:
		return "belongs to the queue, which counts anew"
	case "CC", "BCC":
		return "would route copies to other queues"
	}
	return ""
}
