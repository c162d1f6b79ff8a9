// Package importing is the command that makes job files of the definitions of other schedulers.
package importing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/flags"
	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/azure"
	"almanac/cmd/almanac/internal/importer/crontab"
	"almanac/cmd/almanac/internal/importer/kubernetes"
	"almanac/cmd/almanac/internal/importer/source"
	"almanac/internal/fields"
	"almanac/recurrence"
)

// A reader reads the files of a kind.
type reader func(files []source.File, o importer.Options) importer.Result

// options of the commands.
type options struct {
	out        string
	overwrite  bool
	dryRun     bool
	markdown   bool
	zone       string
	collection string
	form       string
	parameters []string
	now        time.Time
}

const long = `It writes a file for each job, in a directory for each job collection, for almanac plan and
almanac apply, and a report: each job is the same, needs values, differs, cannot be yet, or
cannot be, with the reason and the line of the source. The next 100 runs by the rules of the
source are compared with those here.

Secrets of a source are written nowhere: a file of a job names a variable of the environment
in its place. No connection is opened, and files are read only below the directory of a
source. A DIRECTORY stands for the files in it.

Exit status: 0 if each job was written, although some may differ or need values; 1 if a job
or a file could not be, or if there is no job at all; 2 for a wrong command line.`

// Command returns the command import.
func Command(getenv base.Lookup) *cobra.Command {
	return base.Group(&cobra.Command{
		Use:   "import",
		Short: "Make job files of the definitions of other schedulers",
		Long:  "Make job files of the definitions of other schedulers. docs/migrate-from-azure.md and\ndocs/migrate-from-cron.md say how to move.",
		Example: `  almanac import azure azuredeploy.json azuredeploy.parameters.json --out jobs
  almanac import crontab --time-zone Europe/Stockholm /etc/cron.d
  kubectl get cronjobs -A -o yaml > cronjobs.yaml; almanac import kubernetes cronjobs.yaml`,
	}, ofAzure(getenv), ofCrontabs(getenv), ofKubernetes(getenv))
}

func ofAzure(getenv base.Lookup) *cobra.Command {
	o := &options{}
	own := &flags.Setting{Flag: "parameters", Value: flags.List("files", &o.parameters, func([]string) error { return nil }),
		Help: "Files of parameters for all templates; one such as x.parameters.json is for the template x.json alone."}
	return o.command(&cobra.Command{
		Use:   "azure FILE|DIRECTORY…",
		Short: "Import jobs of Azure Scheduler: templates, dumps, and states and configurations of Terraform",
		Long: `Make job files of what is left of Azure Scheduler: ARM templates with their files of
parameters, exported resource groups, answers of its REST API and of Get-AzSchedulerJob in
JSON, and states (3, 4) and configurations (HCL) of Terraform.

` + long,
		Example: "  almanac import azure azuredeploy.json azuredeploy.parameters.json\n  almanac import azure terraform.tfstate --out jobs\n  almanac import azure --dry-run -o json dump.json",
	}, getenv, azure.Read, []string{".json", ".tf", ".tfstate", ".tfvars", ".bicep"}, own)
}

func ofCrontabs(getenv base.Lookup) *cobra.Command {
	o := &options{}
	own := &flags.Setting{Flag: "form", Value: flags.Choice(&o.form, "user", "system"),
		Help: "Whether each line names a user before its command; by default it is read from the files, and the report says so."}
	return o.command(&cobra.Command{
		Use:   "crontab FILE|DIRECTORY…",
		Short: "Import crontabs of users and of the system",
		Long: `Make job files of crontabs. A command becomes a web request if it is a plain curl or wget.
Any other needs a value: its action.

` + long,
		Example: "  crontab -l > mine.cron; almanac import crontab --time-zone Europe/Stockholm mine.cron\n  almanac import crontab /etc/crontab /etc/cron.d",
	}, getenv, crontab.Read, nil, own)
}

func ofKubernetes(getenv base.Lookup) *cobra.Command {
	o := &options{}
	return o.command(&cobra.Command{
		Use:   "kubernetes FILE|DIRECTORY…",
		Short: "Import CronJobs of Kubernetes",
		Long: `Make job files of CronJobs in YAML or JSON. A container becomes a web request if it runs a
plain curl or wget. Any other needs a value: its action.

` + long,
		Example: "  almanac import kubernetes --time-zone UTC manifests/",
	}, getenv, kubernetes.Read, []string{".yaml", ".yml", ".json"})
}

// command returns the command of a kind. endings are those of the files that count in a directory; nil for all.
func (o *options) command(cmd *cobra.Command, getenv base.Lookup, read reader, endings []string, own ...*flags.Setting) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.With(exit.Usage, errors.New("name the files to be imported"))
		}
		return nil
	}
	group := flags.Group{Name: "Import", Settings: append([]*flags.Setting{
		{Flag: "out", Value: flags.Directory(&o.out), Default: "jobs", Help: "Directory for the files of jobs."},
		{Flag: "overwrite", Value: flags.Bool(&o.overwrite), Help: "Replace files that are there with something else in them."},
		{Flag: "dry-run", Value: flags.Bool(&o.dryRun), Help: "Write no files, and only report."},
		{Flag: "markdown", Value: flags.Bool(&o.markdown), Help: "Print the report as a table in Markdown."},
		{Flag: "time-zone", Value: flags.Form("zone", "a time zone", "an IANA name such as Europe/Stockholm", &o.zone, isZone),
			Help: "Time zone of jobs whose source names none: that of the machine or of the cluster."},
		{Flag: "collection", Short: "c", Value: flags.Text("name", &o.collection), Help: "Job collection of all jobs, in place of that of the source."},
		{Flag: "now", Value: flags.Time(&o.now), Help: "Time of the import, from which runs are compared; by default now."},
	}, own...)}
	kind := strings.Fields(cmd.Use)[0]
	return base.Local(cmd, getenv, []flags.Group{group}, func(_ context.Context, s *base.Session, args []string) error {
		if o.now.IsZero() {
			o.now = s.Now
		}
		return o.run(s, kind, read, args, endings)
	})
}

func isZone(name string) bool {
	_, err := recurrence.LoadLocation(name)
	return err == nil && name != ""
}

func (o *options) run(s *base.Session, kind string, read reader, args, endings []string) error {
	files, ignored, err := open(s.In, args, endings)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	parameters, _, err := open(s.In, o.parameters, nil)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if size := source.Sizes(files) + source.Sizes(parameters); size > maxSize {
		return exit.With(exit.Usage, fmt.Errorf("the files have %d MiB in all, and an import takes %d: import fewer at a time", size>>20, maxSize>>20))
	}
	result := read(files, importer.Options{
		Now: o.now, Zone: o.zone, Collection: o.collection, Form: o.form, Parameters: parameters,
	})
	for _, left := range ignored {
		result.Note(left.name, 0, left.why)
	}
	report := importer.Finish(kind, result, o.now)
	written, err := report.Files()
	if err != nil {
		return err
	}
	if !o.dryRun && len(written) > 0 {
		if err := importer.WriteFiles(o.out, written, o.overwrite); err != nil {
			return err
		}
	}
	report.Below(o.out, o.dryRun)
	if err := o.print(s, report); err != nil {
		return err
	}
	return report.Missing()
}

func (o *options) print(s *base.Session, report *importer.Report) error {
	switch {
	case o.markdown:
		return report.Markdown(s.Out)
	case s.Format.ForPeople():
		return report.Text(s.Out)
	}
	return s.Value(report, "")
}

// maxSize is the size limit of all files of an import, in bytes.
const maxSize = 256 << 20

// maxFiles is how many files a directory may stand for.
const maxFiles = 10_000

// open returns the files of arguments. Each is read below its own directory, or below the argument that is one. ignored
// are files of directories cron.d that cron does not read.
func open(stdin io.Reader, args, endings []string) (files []source.File, ignored []leftOut, err error) {
	for _, arg := range args {
		if arg == "-" {
			text, err := io.ReadAll(io.LimitReader(stdin, source.MaxSize+1))
			if err != nil {
				return nil, nil, err
			}
			files = append(files, source.Of("standard input", text))
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, nil, err
		}
		if !info.IsDir() {
			root, err := os.OpenRoot(filepath.Dir(arg))
			if err != nil {
				return nil, nil, err
			}
			files = append(files, source.File{Dir: root.FS(), Path: filepath.Base(arg), Name: filepath.ToSlash(arg)})
			continue
		}
		inside, left, err := ofDirectory(arg, endings)
		if err != nil {
			return nil, nil, err
		}
		files, ignored = append(files, inside...), append(ignored, left...)
	}
	return files, ignored, nil
}

// cronNames are those of the files of a directory cron.d that every cron reads.
var cronNames = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// A leftOut file or directory is in a directory that was named, and is not read.
type leftOut struct{ name, why string }

// ofDirectory returns the files in a directory, without those in directories below it, and what is left out.
func ofDirectory(dir string, endings []string) (files []source.File, ignored []leftOut, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	var others []string
	ofCron := endings == nil && filepath.Base(whole) == "cron.d"
	for _, e := range entries {
		name := e.Name()
		shown := filepath.ToSlash(filepath.Join(dir, name))
		switch {
		case strings.HasPrefix(name, "."):
			continue
		case e.IsDir():
			ignored = append(ignored, leftOut{shown, "it is a directory in one that was named, and not looked into: name it to have its files read"})
			continue
		case endings != nil && !slices.Contains(endings, strings.ToLower(filepath.Ext(name))):
			others = append(others, name)
			continue
		case ofCron && !cronNames.MatchString(name):
			ignored = append(ignored, leftOut{shown, "it is left out, as cron leaves out a file of cron.d with such a name (Debian takes letters, digits, _ and - only; " +
				"others take no ~, .rpmsave, .rpmnew and .rpmorig at the end): name the file itself if yours takes it"})
			continue
		}
		if files = append(files, source.File{Dir: root.FS(), Path: name, Name: shown, Listed: true}); len(files) > maxFiles {
			return nil, nil, fmt.Errorf("%s has more than %d files: name some of them", dir, maxFiles)
		}
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%s has no file to be imported", dir)
	}
	if n := len(others); n > 0 {
		ignored = append(ignored, leftOut{filepath.ToSlash(dir), fmt.Sprintf(
			"%d files are left out, since their names do not end in %s (%s): name those that are to be read", n,
			strings.Join(endings, ", "), fields.Cut(strings.Join(others, ", "), 200))})
	}
	return files, ignored, nil
}
