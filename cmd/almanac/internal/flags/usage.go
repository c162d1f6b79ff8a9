package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Usage prints how a command is called, its commands, and its flags by group: for each a line of facts and
// a sentence.
func Usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintln(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", cmd.CommandPath())
		for _, g := range cmd.Groups() {
			listCommands(w, cmd, g.ID, g.Title)
		}
		listCommands(w, cmd, "", "Commands")
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	heading := ""
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group, facts, help := "Other", "", f.Usage
		name := " --" + f.Name
		if v, ok := f.Value.(flagValue); ok {
			group, facts = v.group, v.facts()
			if v.Value.Kind != kindBool {
				name += " " + v.Value.Kind
			}
		}
		if f.Shorthand != "" {
			name = " -" + f.Shorthand + "," + name
		}
		if group != heading {
			heading = group
			fmt.Fprintf(w, "\n%s:\n", heading)
		}
		fmt.Fprintf(w, "%s\n      %s\n", strings.TrimRight(fmt.Sprintf(" %-35s  %s", name, facts), " "), help)
	})
	return nil
}

// listCommands prints the commands of a group, below a title.
func listCommands(w io.Writer, cmd *cobra.Command, group, title string) {
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group {
			fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// facts returns the default, the limits, and the variable with its value if it is set.
func (s *Setting) facts() string {
	var facts []string
	if s.Default != "" {
		facts = append(facts, "default "+s.Default)
	}
	if s.Value.Range {
		facts = append(facts, s.Value.Allowed)
	}
	switch {
	case s.fromEnv:
		facts = append(facts, "$"+s.Variable+"="+Redacted(s.text))
	case s.Variable != "":
		facts = append(facts, "$"+s.Variable)
	}
	return strings.Join(facts, "; ")
}
