-- +goose Up

-- When a scheduled operation starts by itself; NULL for one that began at once.
ALTER TABLE operation ADD COLUMN due_at INTEGER;
