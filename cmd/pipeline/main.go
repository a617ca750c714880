// Command pipeline runs the reference pipeline: message systems that are built
// to lose nothing, with faults on demand.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

// commands is the command line.
type commands struct {
	Demo demoCommand `cmd:"" help:"Place orders of which some fail, retry them, and park what keeps failing."`
}

// invocation is what every command works with.
type invocation struct {
	ctx  context.Context //nolint:containedctx // the life of one command
	logs io.Writer
}

// run does what args say, until it is done or ctx ends.
func run(ctx context.Context, args []string, out, logs io.Writer) error {
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("pipeline"), kong.Description("Message systems on RabbitMQ that are built to lose nothing, with faults on demand."),
		kong.Writers(out, logs), kong.Exit(func(int) { exited = true }))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if exited {
		return nil // the help was asked for, and shown
	}
	if err != nil {
		return fmt.Errorf("%w; see pipeline --help", err)
	}
	return parsed.Run(&invocation{ctx, logs})
}
