// Command dashboard is Parkade: it drains parking queues into its store, shows
// what is in them, and replays what people select.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"parkade/config"
)

// version is set by the build.
var version = "dev"

// stopWithin is how long an ordered stop may take. It is over in a second as a
// rule; cutting it off is as safe as any crash.
const stopWithin = 24 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		time.AfterFunc(stopWithin, func() {
			fmt.Fprintln(os.Stderr, "dashboard: stopping took too long, so it was cut off")
			os.Exit(1)
		})
	})
	// Bodies that are drained are garbage at once: the collector shouldn't wait until
	// the memory has doubled, as it does by itself.
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(200 << 20)
	}
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// commands is the command line.
type commands struct {
	Config         string `help:"Read the configuration from FILE (${env_config})." placeholder:"FILE"`
	Listen         string `help:"Answer at this address (${env_listen})." placeholder:"ADDR"`
	Database       string `help:"Keep messages in this file (${env_database})." placeholder:"FILE"`
	InsecureListen bool   `help:"Let other machines in without a sign-in (${env_insecure_listen})."`

	Serve       serveCommand       `cmd:"" default:"1" help:"Run the dashboard."`
	Check       checkCommand       `cmd:"" help:"Check the configuration and every connection, and say all faults."`
	Backup      backupCommand      `cmd:"" help:"Write a copy of the store to FILE, while the dashboard runs."`
	Restore     restoreCommand     `cmd:"" help:"Put a backup in the place of the store. The dashboard must not run."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask the running dashboard whether it answers."`
	Version     versionCommand     `cmd:"" help:"Say which version this is."`
}

// variables are the flags that the environment can give, too.
func variables() kong.Vars {
	return kong.Vars{
		"env_config": "PARKADE_CONFIG", "env_listen": "PARKADE_LISTEN", "env_database": "PARKADE_DATABASE",
		"env_insecure_listen": "PARKADE_INSECURE_LISTEN",
	}
}

// invocation is what every command works with.
type invocation struct {
	ctx    context.Context //nolint:containedctx // the life of one command
	source config.Source
	out    io.Writer
	logs   io.Writer
}

// run does what args say, until it is done or ctx ends.
func run(ctx context.Context, args []string, getenv func(string) string, out, logs io.Writer) error {
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("dashboard"), kong.Description("Where RabbitMQ messages go when nobody could handle them, and how they get out again."),
		kong.Writers(out, logs), kong.Exit(func(int) { exited = true }), variables())
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if exited {
		return nil // the help was asked for, and shown
	}
	if err != nil {
		return fmt.Errorf("%w; see dashboard --help", err)
	}
	return parsed.Run(&invocation{ctx, c.source(getenv), out, logs})
}

// source says where the configuration comes from: the command line wins over the
// environment.
func (c commands) source(getenv func(string) string) config.Source {
	either := func(flag, variable string) string {
		if flag != "" {
			return flag
		}
		return getenv(variables()[variable])
	}
	return config.Source{
		File: either(c.Config, "env_config"), Listen: either(c.Listen, "env_listen"), Database: either(c.Database, "env_database"),
		InsecureListen: c.InsecureListen || getenv("PARKADE_INSECURE_LISTEN") == "true",
		Getenv:         getenv,
	}
}

type versionCommand struct{}

func (versionCommand) Run(i *invocation) error {
	_, err := fmt.Fprintln(i.out, "parkade", version)
	return err
}

var errFaults = errors.New("faults were found")
