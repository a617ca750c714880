package handlers

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"parkade"
	"parkade/views"
)

// csvColumns are the columns of the outcomes of an operation. New ones come last.
func csvColumns() []string {
	return []string{
		"position", "message", "broker", "vhost", "queue", "message_id", "outcome", "why", "left_out", "came_back", "came_back_as",
		"exchange", "routing_key", "x-replay-id", "version", "sha256", "sent_at", "answered_at", "decided_by", "decided_as",
	}
}

// csv streams what became of each message of an operation.
func (h operationPages) csv(c echo.Context) error {
	ctx := c.Request().Context()
	o, err := h.read(c)
	if err != nil {
		return err
	}
	outcome := c.QueryParam("outcome")
	rows, err := h.csvRows(ctx, o.ID, outcome, 0)
	if err != nil {
		return err
	}
	name := "operation-" + o.ID.String()
	if outcome != "" {
		name += "-" + outcome
	}
	head := c.Response().Header()
	head.Set(echo.HeaderContentType, "text/csv; charset=utf-8; header=present")
	head.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name + ".csv"}))
	c.Response().WriteHeader(http.StatusOK)
	w := csv.NewWriter(c.Response())
	if err := w.Write(csvColumns()); err != nil {
		return err
	}
	for len(rows) > 0 {
		for _, r := range rows {
			if err := w.Write(csvRow(r)); err != nil {
				return err
			}
		}
		w.Flush()
		c.Response().Flush()
		if rows, err = h.csvRows(ctx, o.ID, outcome, rows[len(rows)-1].Position); err != nil {
			slog.ErrorContext(ctx, "outcomes can't be read to their end", "operation", o.ID, "err", err) //nolint:sloglint // an answer has begun, so nobody else can say it
			panic(http.ErrAbortHandler)                                                                  // a download that ends well would be taken for whole
		}
	}
	return w.Error()
}

func (h operationPages) csvRows(ctx context.Context, id parkade.OperationID, outcome string, after int64) ([]views.OperationItem, error) {
	items, err := h.Store.Items(ctx, id, outcome, after, maxLimit)
	if err != nil {
		return nil, err
	}
	return h.withMessages(ctx, items)
}

func csvRow(i views.OperationItem) []string {
	row := []string{
		strconv.FormatInt(i.Position, 10), i.Message.String(), i.Row.Queue.Broker, i.Row.Queue.Vhost, i.Row.Queue.Name, i.Row.MessageID,
		"", "", i.Skipped, "", "", "", "", "", "", "", "", "", "", "",
	}
	if r := i.Replay; r != nil {
		copy(row[6:], []string{
			string(r.Outcome), r.Why, i.Skipped, yesOrNo(r.CameBack), jsonID(r.ReturnedAs), r.Exchange, r.RoutingKey, r.Stamp,
			strconv.FormatInt(r.Version, 10), hex.EncodeToString(r.SentHash[:]), csvTime(r.SentAt), csvTime(r.EndedAt), r.DecidedBy, r.DecidedAs,
		})
	}
	for i := range row {
		row[i] = inert(row[i])
	}
	return row
}

// inert keeps a spreadsheet from taking what strangers wrote for a formula: it then
// begins with an apostrophe.
func inert(cell string) string {
	if strings.IndexAny(strings.TrimLeft(cell, " "), "=+-@\t\r\n＝＋－＠") == 0 {
		return "'" + cell
	}
	return cell
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
