// Package help gives programs that use package flag a help that is worth reading.
package help

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Parse parses a program's arguments, all of which must be flags. With -h it
// prints about and every flag to out and returns [flag.ErrHelp]. Other errors
// say where help is; nothing is printed for them.
func Parse(flags *flag.FlagSet, about string, args []string, out io.Writer) error {
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.Usage = func() {}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(out, text(flags, about))
		return err
	case err != nil:
		return fmt.Errorf("%w; see -h", err)
	case flags.NArg() > 0:
		return fmt.Errorf("%q is no flag; see -h", flags.Arg(0))
	}
	return nil
}

// width is where lines are wrapped, in bytes.
const width = 90

func text(flags *flag.FlagSet, about string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(about) + "\n\nFlags:\n")
	flags.VisitAll(func(f *flag.Flag) {
		kind, does := flag.UnquoteUsage(f)
		b.WriteString(strings.TrimRight("  -"+f.Name+" "+kind, " ") + "\n")
		if f.DefValue != "" && f.DefValue != "false" {
			does += " (default " + f.DefValue + ")"
		}
		wrap(&b, "        ", does)
	})
	b.WriteString("  -h\n        print this\n")
	return b.String()
}

// wrap writes words in lines that begin with an indent.
func wrap(b *strings.Builder, indent, words string) {
	line := indent
	for word := range strings.FieldsSeq(words) {
		if len(line)+len(word) >= width && len(line) > len(indent) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
