package calendar_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
)

const icalendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nX-WR-CALNAME:Factory\r\n" +
	"BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20260501\r\nDTEND;VALUE=DATE:20260502\r\nSUMMARY:May Day\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:2\r\nDTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20270107\r\nSUMMARY:Shut\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:3\r\nDTSTART:20260601T090000Z\r\nDTEND:20260601T100000Z\r\nSUMMARY:Meeting\r\nEND:VEVENT\r\n" +
	"END:VCALENDAR\r\n"

func TestImportPrintsTheCalendarOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	ics, csv := file("factory.ics", icalendar), file("more.csv", "date,name,kind\n2026-05-02,Saturday,make-up\n2020-01-01,Past,\n")
	out, problems, err := types(t, "", "import", ics, csv, "--weekend", "sat,sunday", "--years", "2026..2028")
	require.NoError(t, err)
	require.Contains(t, problems, "1 events are no whole days")
	require.Contains(t, problems, "1 entries are outside of the years")
	require.Equal(t, `weekendDays: [saturday, sunday]
days:
  - date: "2026-05-01"
    name: May Day
periods:
  - first: "2026-12-24"
    last: "2027-01-06"
    name: Shut
makeUpDays:
  - date: "2026-05-02"
    name: Saturday
completeUntil: "2027-12-31"
source: factory.ics, more.csv
description: Factory
`, out)

	out, _, err = types(t, icalendar, "import", "-", "--weekend", "none", "--years", "2026", "--complete-until", "2026-06-30", "-o", "jsonpath=completeUntil")
	require.NoError(t, err)
	require.Equal(t, "2026-06-30\n", out)
}

func TestImportRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, stdin string
		status      int
		args        []string
	}{
		{"--weekend says which days are the weekend", icalendar, exit.Usage, []string{"-"}},
		{`"sturday" is no day of the week, did you mean saturday?`, icalendar, exit.Usage, []string{"-", "--weekend", "sturday"}},
		{`line 1: "x" is no date`, "x,y\n", exit.Failed, []string{"-", "--weekend", "none"}},
		{"no such file", "", exit.Usage, []string{"/does/not/exist.ics", "--weekend", "none"}},
		{`"26" is no year`, icalendar, exit.Usage, []string{"-", "--weekend", "none", "--years", "26"}},
		{"a date such as 2026-01-31", icalendar, exit.Usage, []string{"-", "--weekend", "none", "--complete-until", "soon"}},
	} {
		out, _, err := types(t, tt.stdin, append([]string{"import"}, tt.args...)...)
		require.ErrorContains(t, err, tt.want)
		require.Equal(t, tt.status, exit.Status(err), tt.want)
		require.Empty(t, out)
	}
}
