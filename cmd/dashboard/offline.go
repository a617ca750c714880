package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"parkade/config"
	"parkade/store"
)

type backupCommand struct {
	File string `arg:"" help:"The file to write; there must be none yet."`
}

// Run writes a backup; the dashboard may run meanwhile.
func (b backupCommand) Run(i *invocation) error {
	c, err := config.Load(i.source)
	if err != nil {
		return err
	}
	if err := store.BackupOf(i.ctx, c.Database, b.File); err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.out, "%s is a backup of %s\n", b.File, c.Database)
	return err
}

type restoreCommand struct {
	File string `arg:"" help:"The backup to restore."`
}

// Run puts a backup in the place of the store, which is kept under another name.
func (r restoreCommand) Run(i *invocation) error {
	c, err := config.Load(i.source)
	if err != nil {
		return err
	}
	kept, err := store.Restore(i.ctx, c.Database, r.File, time.Now())
	if kept != "" {
		fmt.Fprintln(i.out, "the store that was there is kept as", kept)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(i.out, "%s is restored from %s\n", c.Database, r.File)
	return err
}

type healthcheckCommand struct{}

// Run asks the dashboard that listens at the configured address.
func (healthcheckCommand) Run(i *invocation) error {
	c, err := config.Load(i.source)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	req, err := http.NewRequestWithContext(i.ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: 4 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the dashboard answers %s", res.Status)
	}
	return nil
}
