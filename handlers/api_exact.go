package handlers

import (
	"context"

	"parkade"
	"parkade/replay"
	"parkade/store"
)

// one reports whether n sends one message exactly as a preview showed it.
func (n newOperation) one() bool { return n.Edit != nil || n.Version != nil }

// checkOne refuses what can't be meant for one message.
func (n newOperation) checkOne() error {
	switch {
	case !n.one() && n.Seen == 0:
		return nil
	case n.Edit != nil && n.Version != nil:
		return bothVersions()
	case n.Verb != parkade.Replay || len(n.Select.IDs) != 1 || len(n.Select.Filter) > 0:
		return parkade.Errorf(parkade.Invalid, "An edit, a version and seen belong to the replay of one message, selected by its id.").At("select.ids")
	case !n.one():
		return parkade.Errorf(parkade.Invalid, "What was seen is checked with a version or an edit: send one of them, too.").At("version")
	case n.DryRun:
		return parkade.Errorf(parkade.Invalid, "POST /messages/{id}/preview says what this would send.").At("dry_run")
	case n.Seen < 1:
		return noSeen()
	}
	return nil
}

// exactly completes an operation that sends one message as its preview said. It is
// refused if that isn't what would be sent now.
func (h apiOperations) exactly(ctx context.Context, n newOperation, id parkade.MessageID, out *store.NewOperation) error {
	request := replay.PreviewRequest{Message: id, Seen: n.Seen, Sends: n.Version, Target: out.Target}
	if n.Edit != nil {
		m, err := h.Store.Message(ctx, id)
		if err != nil {
			return err
		}
		edit, err := h.newEdit(ctx, m, n.Seen, out.By, *n.Edit)
		if err != nil {
			return err
		}
		out.Edit, request.Draft = &edit, &edit.Draft
	}
	v, err := h.Planner.Preview(ctx, request)
	if err != nil {
		return err
	}
	if why := v.Refused(); why != "" {
		return parkade.Errorf(parkade.Conflict, "Nothing was sent. %s", why)
	}
	if n.Expect != nil && n.Expect.Hash != "" {
		if err := v.Stands(n.Expect.Hash); err != nil {
			return err
		}
	}
	if out.Expect != nil {
		out.Expect.Hash = "" // of the preview, which stands
	}
	out.IDs, out.Items, out.Policy = nil, []store.Planned{v.Item}, v.Policy
	if n.Rate == nil {
		out.Rate = v.Rate
	}
	return nil
}
