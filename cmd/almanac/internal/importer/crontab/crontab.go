// Package crontab reads crontabs: those of users, and those of the system, which name the user in each line.
package crontab

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/cronline"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
	"almanac/cmd/almanac/internal/importer/webcall"
	"almanac/recurrence"
)

// Read reads crontabs.
func Read(files []source.File, o importer.Options) importer.Result {
	var r importer.Result
	names := importer.Names{}
	for _, file := range files {
		text, err := file.Read()
		if err != nil {
			r.Problem(file.Name, 0, err.Error())
			continue
		}
		t := table{file: file.Name, o: o, names: names, result: &r, env: map[string]string{}}
		t.read(text)
	}
	if len(r.Drafts) > 0 {
		r.Note(r.Drafts[0].File, 0, "cron never runs what was due while it was down; Almanac runs the latest of these, if it was down itself")
	}
	return r
}

// A table is a crontab.
type table struct {
	file   string
	o      importer.Options
	names  importer.Names
	result *importer.Result
	env    map[string]string
	system bool
	zone   string // of CRON_TZ
}

// An entry is a line with a time.
type entry struct {
	line int
	expr string // five fields, or a name
	rest string
}

var (
	assignment = regexp.MustCompile(`^\s*(?:"([^"=]+)"|'([^'=]+)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$`)
	userName   = regexp.MustCompile(`^[a-z_][a-z0-9_.-]{0,31}\$?$`)
)

func (t *table) read(text string) {
	lines := strings.Split(text, "\n")
	t.form(lines)
	found := 0
	for i, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case assignment.MatchString(line):
			t.set(line, i+1)
		default:
			if found++; found > importer.MaxJobs {
				t.result.Problem(t.file, i+1, fmt.Sprintf("the lines from here on are left out, since there are more than %d", importer.MaxJobs))
				return
			}
			t.entry(split(line, i+1))
		}
	}
	if found == 0 {
		t.result.Problem(t.file, 0, "it has no line with a time and a command")
	}
}

// set reads the assignment of a variable.
func (t *table) set(line string, number int) {
	found := assignment.FindStringSubmatch(line)
	name, text := found[1]+found[2]+found[3], found[4]
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = text[1 : n-1]
	}
	switch name {
	case "CRON_TZ":
		t.zone = text
		t.result.Note(t.file, number, "CRON_TZ: cronie and FreeBSD take it for the times; the cron of Debian and Ubuntu does not, "+
			"and there the zone of the machine counts: remove the line if that is yours, and give --time-zone")
	case "MAILTO":
		if text != "" {
			t.result.Note(t.file, number, "MAILTO: cron mails what a command prints; Almanac mails failures, if notifications say so")
		}
	case "RANDOM_DELAY":
		t.result.Note(t.file, number, "RANDOM_DELAY: runs begin at their time here")
	}
	t.env[name] = text
	t.result.Variable(name, text)
}

// split returns the time and the rest of a line.
func split(line string, number int) entry {
	line = strings.TrimPrefix(line, "-") // of SUSE: nothing is logged
	fields := 5
	if strings.HasPrefix(line, "@") {
		fields = 1
	}
	rest := line
	var words []string
	for range fields {
		rest = strings.TrimLeft(rest, " \t")
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	return entry{number, strings.Join(words, " "), strings.TrimLeft(rest, " \t")}
}

// commands are words with which a command begins, and not the name of a user.
var commands = map[string]bool{
	"curl": true, "wget": true, "test": true, "cd": true, "sh": true, "bash": true, "python": true, "python3": true, "php": true,
	"perl": true, "ruby": true, "node": true, "find": true, "rm": true, "echo": true, "nice": true, "flock": true, "timeout": true,
	"docker": true, "rsync": true, "sudo": true, "env": true, "sleep": true, "touch": true, "cat": true, "tar": true, "mysqldump": true,
	"pg_dump": true, "certbot": true, "run-parts": true, "command": true, "git": true, "aws": true, "kubectl": true, "systemctl": true,
	"service": true, "ntpdate": true, "logrotate": true, "su": true, "for": true, "if": true, "export": true, "exec": true, "date": true,
}

// form decides whether each line names a user.
func (t *table) form(lines []string) {
	switch {
	case t.o.Form != "":
		t.system = t.o.Form == "system"
		return
	case strings.Contains("/"+t.file, "/cron.d/"), strings.HasSuffix("/"+t.file, "/etc/crontab"):
		t.system = true
		return
	}
	first, seen := 0, 0
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || assignment.MatchString(line) {
			continue
		}
		words := strings.Fields(split(line, 0).rest)
		if len(words) < 2 || !userName.MatchString(words[0]) || commands[words[0]] {
			return
		}
		if next := words[1]; words[0] != "root" && words[0] != "www-data" && !commands[path.Base(next)] && next[0] != '/' && next[0] != '[' {
			return
		}
		if seen++; seen == 1 {
			first = i + 1
		}
	}
	if seen > 0 {
		t.system = true
		t.result.Note(t.file, first, "each line names a user before its command, so the table is read as one of the system (--form user if it is not)")
	}
}

// entry reads a line with a time.
func (t *table) entry(e entry) {
	d := &importer.Draft{Collection: t.o.DefaultCollection(), File: t.file, Line: e.line}
	t.result.Drafts = append(t.result.Drafts, d)
	command := e.rest
	if t.system {
		_, command, _ = strings.Cut(e.rest, " ")
		if before, after, tabbed := strings.Cut(e.rest, "\t"); tabbed && !strings.Contains(before, " ") {
			command = after
		}
		command = strings.TrimLeft(command, " \t")
	}
	call, err := t.call(command, e.line)
	d.Name = t.names.Of(word(call, command))
	switch {
	case e.expr == "@reboot":
		d.Say(importer.Never, "", e.line, "@reboot names no time: it runs when the machine starts, and no machine starts here. Have the machine's services start it")
		return
	case e.rest == "":
		d.Say(importer.Never, "", e.line, "the line has no command")
		return
	}
	l, parseErr := cronline.Parse(e.expr, cronline.Unix)
	if parseErr != nil {
		d.Say(importer.Never, "recurrence", e.line, "cron does not take the line: "+parseErr.Error())
		return
	}
	t.build(d, l, call, err)
}

// build sets the properties of a draft.
func (t *table) build(d *importer.Draft, l *cronline.Line, call *webcall.Call, noCall error) {
	name, loc, err := t.location()
	if err != nil {
		d.Say(importer.Never, "recurrence.timeZone", d.Line, err.Error())
		return
	}
	recurrences, err := l.Recurrences(name, d.Line)
	if err != nil {
		d.Say(importer.Never, "recurrence", d.Line, err.Error())
		return
	}
	for _, r := range recurrences {
		if loc == nil {
			r.Set("timeZone", value.Needed(d.Line, t.unknownZone()))
		}
		r.Set("catchUpWindow", value.Text("PT0S", d.Line)).Set("overlapPolicy", value.Text("AllowAll", d.Line))
	}
	for _, note := range l.Notes {
		d.Say(importer.Same, "recurrence", d.Line, note)
	}
	d.Recurrences, d.Waits = recurrences, l.Waits()
	if loc != nil {
		d.Zone = loc
		d.Source = func(from time.Time) iter.Seq[time.Time] { return l.Runs(from, loc) }
	}
	d.Properties = importer.Repeating(action(d, call, noCall), recurrences[0].Clone(), d.Line)
}

// action returns the action of a command.
func action(d *importer.Draft, call *webcall.Call, err error) *value.Value {
	if err != nil {
		return value.Needed(d.Line, "the action: Almanac sends requests and messages and runs no commands, and this is no plain request: "+err.Error())
	}
	for _, text := range call.Notes {
		d.Say(importer.Same, "action", d.Line, text)
	}
	for _, text := range call.Differs {
		d.Say(importer.Differs, "action", d.Line, text)
	}
	return importer.Web(call.Request, call.Retry, call.HTTPS, d.Line)
}

// location returns the zone of the lines that follow; nil if it is not known.
func (t *table) location() (string, *time.Location, error) {
	name := t.zone
	if name == "" {
		name = t.o.Zone
	}
	if name == "" {
		return "", nil, nil
	}
	loc, err := recurrence.LoadLocation(name)
	if err != nil {
		return "", nil, errors.New("CRON_TZ names no time zone that is known here")
	}
	return name, loc, nil
}

func (t *table) unknownZone() string {
	text := "the time zone of the machine that runs cron (--time-zone gives it for all lines)"
	if name, ok := t.env["TZ"]; ok && regexp.MustCompile(`^[A-Za-z0-9_+/-]{1,40}$`).MatchString(name) {
		text += "; TZ=" + name + " is the zone of the commands, and only in some programs also that of the times"
	}
	return text
}

// call reads a command. The first % that no backslash precedes ends it; what follows is its input.
func (t *table) call(command string, line int) (*webcall.Call, error) {
	command, input, has := percent(command)
	e := webcall.Environment{Known: t.env}
	if has {
		if !strings.HasSuffix(input, "\n") { // cron ends it with a line break
			input += "\n"
		}
		e.Stdin = &input
	}
	return webcall.Shell(command, e, line)
}

// percent splits a command from its input.
func percent(text string) (command, input string, has bool) {
	var parts [2]strings.Builder
	part := &parts[0]
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '%':
			part.WriteByte('%')
			i++
		case text[i] == '%' && !has:
			part, has = &parts[1], true
		case text[i] == '%':
			part.WriteByte('\n')
		default:
			part.WriteByte(text[i])
		}
	}
	return parts[0].String(), parts[1].String(), has
}

// word returns a word for the name of a job: the host of a request, or the name of the program.
func word(call *webcall.Call, command string) string {
	if call != nil {
		return call.Host
	}
	for w := range strings.FieldsSeq(command) {
		if !strings.Contains(w, "=") {
			return path.Base(w)
		}
	}
	return ""
}
