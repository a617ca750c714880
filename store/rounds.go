package store

import (
	"context"

	"parkade"
)

// maxRounds bounds how much of a chain of rounds is read.
const maxRounds = 200

// Rounds returns the lives of a message between its parkings, oldest first: what
// led to it, and what came of it, itself included. Of a chain of more than 200 the
// nearest are returned.
func (s *Store) Rounds(ctx context.Context, id parkade.MessageID) ([]parkade.Message, error) {
	rounds, err := query(ctx, s.reader, s.scanMessage, `
		WITH RECURSIVE
		before(id, previous_id) AS (
		  SELECT id, previous_id FROM message WHERE id = ?1
		  UNION
		  SELECT p.id, p.previous_id FROM before b JOIN message p ON p.id = b.previous_id
		  LIMIT ?2),
		after(id) AS (
		  VALUES (?1)
		  UNION
		  SELECT n.id FROM after a JOIN message n ON n.previous_id = a.id
		  LIMIT ?2)
		SELECT `+columns+`
		FROM message m
		WHERE m.id IN (SELECT id FROM before UNION SELECT id FROM after)
		ORDER BY m.id`, id, maxRounds/2)
	if err == nil && len(rounds) == 0 {
		_, err = s.Message(ctx, id)
	}
	return rounds, err
}
