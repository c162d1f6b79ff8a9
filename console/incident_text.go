package console

import (
	"fmt"
	"strings"
)

// markdown returns a report as Markdown, for an issue or a message. The link is where the page is.
func (v *incidentView) markdown(p *page, link string) string {
	var out strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&out, format+"\n", values...) }
	scope := "everything that the reader may see"
	if v.Scope != "" {
		scope = "the job collection " + plainMarkdown(v.Scope)
	}
	line("# %s\n", plainMarkdown(v.Heading))
	line("Of %s, times in %s. Made at %s. <%s>\n", scope, p.Clock.Zone, p.Clock.Now.Format("2006-01-02 15:04:05 MST"), link)
	for _, piece := range v.Say {
		text := plainMarkdown(piece.Text)
		if piece.Class != "" {
			text = "**" + text + "**"
		}
		out.WriteString(text)
	}
	line("\n")
	for _, note := range v.Notes {
		line("> %s\n", plainMarkdown(note))
	}
	if v.Due > 0 {
		var sum []string
		for _, part := range v.Parts {
			sum = append(sum, count(part.N)+" "+part.Text)
		}
		line("**Balance**: %s due = %s.", count(v.Due), strings.Join(sum, " + "))
	}
	line("%s%s.%s\n", v.Read, map[bool]string{true: ": " + completeText}[v.Whole], map[bool]string{true: " " + plural(v.Manual, "run", "runs") + " by hand not counted."}[v.Manual > 0])
	for _, g := range v.Groups {
		line("## %s\n\n%s\n", g.Heading, g.Note)
		for _, row := range g.Rows {
			var names []string
			for _, j := range row.Which {
				names = append(names, plainMarkdown(j.Name))
			}
			if row.Rest > 0 {
				names = append(names, plural(row.Rest, "other", "others"))
			}
			host, still := "", ""
			if row.Host != "" {
				host = ", " + plainMarkdown(row.Host)
			}
			if g.Still {
				still = fmt.Sprintf("; %s now", plural(row.Still, "job still fails", "jobs still fail"))
			}
			line("- %s × %s%s, due %s to %s: %s%s", count(row.N), plainMarkdown(row.Text), host, row.From.Text, row.To.Text, strings.Join(names, ", "), still)
			if row.Sentence != "" {
				line("  - %s: %s", plainMarkdown(row.Example), plainMarkdown(row.Sentence))
			}
		}
		line("")
	}
	v.listsInMarkdown(line)
	return out.String()
}

// listsInMarkdown adds what happened, in the order of time.
func (v *incidentView) listsInMarkdown(line func(string, ...any)) {
	if len(v.Facts) > 0 {
		line("## What happened\n")
		for _, f := range v.Facts {
			source := ""
			if f.Source != "" {
				source = " (" + plainMarkdown(f.Source) + ")"
			}
			line("- %s %s%s", f.At.Text, plainMarkdown(f.Text), source)
		}
		if v.FactsCut > 0 {
			line("- %s more", count(v.FactsCut))
		}
		line("")
	}
	v.changesInMarkdown(line)
	line("## Workers\n")
	lineIf(line, v.NoWorkers)
	for _, w := range v.Workers {
		times := ""
		if w.Came != nil {
			times += ", came " + w.Came.Text
		}
		if w.Went != nil {
			times += ", " + w.How + ", last check-in " + w.Went.Text
		}
		line("- %s%s%s", plainMarkdown(w.Name), plainMarkdown(prefixed(", ", w.Version)), times+prefixed(", ", w.Gaps))
	}
	line("\n## Alerts\n")
	lineIf(line, v.NoAlerts)
	lineIf(line, v.OfSome)
	if len(v.Alerts) == 0 && v.NoAlerts == "" {
		line("None.")
	}
	for _, a := range v.Alerts {
		line("- %s %s: %s", a.At.Text, plainMarkdown(a.To), plainMarkdown(strings.TrimSuffix(a.Status+", "+a.Answer, ", ")))
	}
}

// changesInMarkdown adds who changed what.
func (v *incidentView) changesInMarkdown(line func(string, ...any)) {
	line("## Changed\n")
	lineIf(line, v.NoChange)
	lineIf(line, v.OfSome)
	if len(v.Changes) == 0 && v.NoChange == "" {
		line("Nothing.")
	}
	for _, c := range v.Changes {
		line("- %s %s: %s %s%s", c.At.Text, plainMarkdown(c.Who), plainMarkdown(c.subjects()), plainMarkdown(c.What), plainMarkdown(prefixed(": ", c.Message)))
		for _, d := range c.Diffs {
			if d.Hidden {
				line("  - %s: a secret changed", plainMarkdown(d.Path))
				continue
			}
			line("  - %s: %s → %s", plainMarkdown(d.Path), plainMarkdown(d.From), plainMarkdown(d.To))
		}
	}
	if v.More > 0 {
		line("- %s more", count(v.More))
	}
	if v.JobsRead < v.Jobs {
		line("\nThe changes of %s of %s were read.", count(v.JobsRead), plural(v.Jobs, "job", "jobs"))
	}
	line("")
}

// lineIf adds a sentence, if there is one.
func lineIf(line func(string, ...any), text string) {
	if text != "" {
		line("%s\n", plainMarkdown(text))
	}
}

// prefixed returns a text after a prefix; "" for none.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// completeText says that a report has all that there is.
const completeText = "it is complete for jobs that exist, as far back as histories are kept"

// markdownSigns are the signs that mean something in Markdown, and what stands for each.
var markdownSigns = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;",
	"|", "\\|", "~", "\\~", "$", "\\$", "#", "\\#", "&", "&amp;",
	"@", "@\u200b", "://", ":\u200b//", "www.", "www.\u200b") // nobody is told, and nothing is a link

// plainMarkdown returns a text in one line that Markdown shows as it is.
func plainMarkdown(text string) string {
	lead := ""
	if strings.HasPrefix(text, " ") {
		lead = " "
	}
	tail := ""
	if strings.HasSuffix(text, " ") {
		tail = " "
	}
	return lead + markdownSigns.Replace(strings.Join(strings.Fields(text), " ")) + tail
}
