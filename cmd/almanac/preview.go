package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"almanac/job"
)

// maxLine bounds a line of a batch, in bytes.
const maxLine = 1 << 20

func newPreview() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview [--now T] [--take N] FILE|-",
		Short: "Show when a job would run",
		Long: `Print the next occurrences of a job definition, one RFC 3339 line each, as if
it were created now. The definition is checked as the API checks a new job; it may
lack its action. The plan of a collection and the egress rules are not checked.

With --batch, read JSON lines {"id","now","take","properties":{"startTime",
"recurrence"}} from FILE or standard input, and write a line of JSON for each,
in order: {"id","occurrences","done"}, where done says that nothing follows, or
{"id","error"}. A line that is refused does not stop the rest.`,
		Example: `  almanac preview examples/last-friday.json
  almanac preview --now 2026-01-01T00:00:00Z --take 3 job.json
  almanac preview --batch < cases.jsonl`,
		Args: cobra.MaximumNArgs(1),
	}
	now := cmd.Flags().String("now", "", "the time of creation, RFC 3339 (default: now)")
	take := cmd.Flags().Int("take", 0, "how many occurrences to show, 1 to 1000 (default: the file's \"take\", or 10)")
	batch := cmd.Flags().Bool("batch", false, "read and write JSON lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at := time.Now()
		if *now != "" {
			var err error
			if at, err = time.Parse(time.RFC3339, *now); err != nil {
				return fmt.Errorf("--now is %q, want RFC 3339 such as 2026-01-31T08:00:00Z", *now)
			}
		}
		for _, name := range []string{"now", "take"} {
			if *batch && cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s cannot be combined with --batch: give each line its own %q", name, name)
			}
		}
		if cmd.Flags().Changed("take") && (*take < 1 || *take > 1000) {
			return fmt.Errorf("--take is %d, want 1 to 1000", *take)
		}
		in, err := open(cmd.InOrStdin(), args, *batch)
		if err != nil {
			return err
		}
		defer in.Close()
		if *batch {
			return previewBatch(in, cmd.OutOrStdout(), at)
		}
		body, err := io.ReadAll(io.LimitReader(in, maxLine))
		if err != nil {
			return err
		}
		p, err := job.ParsePreview(body, at)
		if err != nil {
			return err
		}
		if *now != "" && !p.Now.Equal(at) {
			return errors.New(`--now cannot be combined with a file that has its own "now": leave out one of them`)
		}
		if *take != 0 {
			p.Take = *take
		}
		return previewOne(cmd.OutOrStdout(), p)
	}
	return cmd
}

// open opens the file that was named, or standard input.
func open(stdin io.Reader, args []string, batch bool) (io.ReadCloser, error) {
	switch {
	case len(args) == 0 && !batch:
		return nil, errors.New("name a file with a job definition, or - for standard input")
	case len(args) == 0 || args[0] == "-":
		return io.NopCloser(stdin), nil
	}
	return os.Open(args[0])
}

func previewOne(out io.Writer, p job.Preview) error {
	result := p.Run()
	for _, t := range result.Occurrences {
		fmt.Fprintln(out, t.UTC().Format(time.RFC3339))
	}
	for _, note := range result.Notes {
		fmt.Fprintln(out, note)
	}
	return nil
}

func previewBatch(in io.Reader, out io.Writer, now time.Time) error {
	lines := bufio.NewReaderSize(in, maxLine)
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for {
		line, err := lines.ReadSlice('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			// A line that is too long for the buffer is for the parser as well.
			if err := encoder.Encode(previewLine(line, now)); err != nil {
				return err
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if lines.Buffered() == 0 { // whoever asks one by one waits for the answer
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.Flush()
		case err != nil:
			return fmt.Errorf("read the batch: %w", err)
		}
	}
}

func previewLine(line []byte, now time.Time) job.PreviewResult {
	p, err := job.ParsePreview(line, job.PreviewOptions{Now: now})
	if err != nil {
		return p.Failed(err)
	}
	return p.Run()
}
