// Package help gives programs that use package flag a help that is worth reading.
package help

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Parse parses a program's arguments, all of which must be flags, with one or two dashes. With -h it prints
// about and every flag to out and returns [flag.ErrHelp]. Other errors say where help is; nothing is printed
// for them.
func Parse(flags *flag.FlagSet, about string, args []string, out io.Writer) error {
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.Usage = func() {}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		all := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.AddGoFlagSet(flags)
		_, _ = fmt.Fprintf(out, "%s\n\nFlags:\n%s", strings.TrimSpace(about), all.FlagUsagesWrapped(width))
		return err
	case err != nil:
		return fmt.Errorf("%w; see -h", err)
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag; see -h", flags.Arg(0))
	}
	return nil
}

// width is where lines are wrapped, in bytes.
const width = 110
