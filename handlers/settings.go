package handlers

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"parkade/config"
	"parkade/store"
	"parkade/views"
)

type settingsPage struct{ Deps }

func (h settingsPage) show(c echo.Context) error {
	stats, err := h.Store.Stats(c.Request().Context())
	if err != nil {
		return err
	}
	cfg := h.Config()
	s := views.Settings{
		Shell: shell(c, h.Deps), File: cfg.File, Ahead: cfg.Unused(), Store: storeLines(stats), Versions: versions(h.Version),
		Sections: []views.SettingSection{serverSection(cfg), retentionSection(cfg)},
	}
	for _, b := range cfg.Brokers {
		s.Sections = append(s.Sections, brokerSection(b))
	}
	return render(c, http.StatusOK, views.SettingsPage(s))
}

func serverSection(c *config.Config) views.SettingSection {
	public := "not set: links start at the address in use"
	if c.PublicURL != nil {
		public = c.PublicURL.Redacted()
	}
	auth := "none: whoever reaches this address may look, replay and discard"
	if c.Auth.Mode != "none" && c.Auth.Mode != "" {
		auth = c.Auth.Mode
	}
	lines := []views.Setting{
		{Name: "listen", Value: c.Listen, Code: true},
		{Name: "public_url", Value: public, Code: c.PublicURL != nil},
		{Name: "auth", Value: auth},
	}
	if len(c.Hosts) > 0 {
		lines = append(lines, views.Setting{Name: "hosts", Value: strings.Join(c.Hosts, ", "), Code: true})
	}
	return views.SettingSection{Title: "Server", Lines: lines}
}

func retentionSection(c *config.Config) views.SettingSection {
	return views.SettingSection{Title: "Retention", Lines: []views.Setting{
		{Name: "undecided", Value: "kept until somebody decides"},
		{Name: "discarded", Value: "restorable for " + views.Age(c.Retention.Discarded)},
		{Name: "replayed, resolved", Value: "kept for " + views.Age(c.Retention.Closed)},
	}}
}

func brokerSection(b config.Broker) views.SettingSection {
	s := views.SettingSection{Title: "Broker " + b.Name, Lines: []views.Setting{
		{Name: "amqp", Value: b.AMQP.String(), Code: true},
		{Name: "management", Value: b.Management.String(), Code: true},
	}}
	for _, p := range b.Parking {
		drain := "started by people"
		if p.Auto {
			drain = "drained without being asked"
		}
		s.Lines = append(s.Lines, views.Setting{Name: "parking queue", Value: p.Queue + " in vhost " + p.Vhost + ": " + drain + ". Its replays " + replayWords(p.Replay) + "."})
	}
	if len(b.Parking) == 0 {
		s.Lines = append(s.Lines, views.Setting{Name: "parking queues", Value: "none listed: those whose names look like it are offered"})
	}
	return s
}

func storeLines(s store.Stats) []views.Setting {
	return []views.Setting{
		{Name: "File", Value: s.Path, Code: true},
		{Name: "Size", Value: views.Size(s.Bytes) + ", and " + views.Size(s.WAL) + " of log"},
		{Name: "Free in it", Value: views.Size(s.Free)},
		{Name: "Disk", Value: fmt.Sprintf("%s free of %s", views.Size(s.FreeDisk), views.Size(s.TotalDisk))},
	}
}

// versions lists this program's and those of what it rests on.
func versions(own string) []views.Setting {
	all := []views.Setting{{Name: "Parkade", Value: own}, {Name: "Go", Value: strings.TrimPrefix(runtime.Version(), "go") + ", " + runtime.GOOS + "/" + runtime.GOARCH}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return all
	}
	for _, name := range [][2]string{{"AMQP client", "github.com/rabbitmq/amqp091-go"}, {"SQLite", "modernc.org/sqlite"}} {
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == name[1] })
		if i >= 0 {
			all = append(all, views.Setting{Name: name[0], Value: info.Deps[i].Path + " " + info.Deps[i].Version, Code: true})
		}
	}
	return all
}
