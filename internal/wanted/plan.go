package wanted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"almanac/client"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/jobfile"
)

// Options say how a plan is made and done.
type Options struct {
	Client *client.Client // of the resource group of the directory
	Now    func() time.Time

	Take     int // runs before and after a change; 0: 10
	Previews int // changes of which the other jobs that are due are asked; 0: 500, below: none
	Parallel int // requests at the same time; 0: 16

	// Literal allows secrets that are written in the files.
	Literal bool

	// Adopt gives jobs of the files that have no owner that of the directory.
	Adopt bool

	// Prune says that jobs of the owner that the files do not have any more are pruned; AllowEmpty, that it is so even in
	// job collections of which the files have no job at all.
	Prune, AllowEmpty bool

	// Rebind puts the owner on record for the job collections that the directory names now, whatever the record says.
	Rebind bool
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Take, o.Previews, o.Parallel = cmp.Or(o.Take, 10), cmp.Or(o.Previews, 500), cmp.Or(o.Parallel, 16)
	return o
}

// An Action is what has to be done for a job.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Keep   Action = "unchanged"
	Prune  Action = "prune"
)

// A Change is a job of a plan.
type Change struct {
	Collection string  `json:"collection"`
	Name       string  `json:"name"`
	Action     Action  `json:"action"`
	File       string  `json:"file,omitempty"`
	Line       int     `json:"line,omitempty"`
	Fields     []Field `json:"fields,omitempty"`

	// Secrets are the members with references, and secrets in the file itself, which are not compared.
	Secrets []string `json:"secretsNotCompared,omitempty"`

	// Owner is that of the job, if it is another than that of the directory: the job keeps it.
	Owner string `json:"owner,omitempty"`

	// Runs are the next runs; nil if the change moves none, and for a job that stays as it is.
	Runs *Runs `json:"runs,omitempty"`

	job  *jobfile.Job // nil for Prune
	etag string
	is   *actual // nil: there is none
	same bool    // by its digest

	compared bool // its secrets are those that are stored
}

func (c *Change) name() string { return c.Collection + "/" + c.Name }

// A Plan is what has to be done for the jobs of a directory.
type Plan struct {
	Changes []*Change // of all jobs, in the order of their names; those that are pruned come last

	// Once are jobs of the owner that the files do not have, and that stay since they run once.
	Once []string

	options Options
	config  Config
}

// New compares the jobs of a directory with those of the server. The error joins all jobs that could not be compared.
func New(ctx context.Context, o Options, d Directory) (*Plan, error) {
	o = o.withDefaults()
	p := &Plan{options: o, config: d.Config}
	if o.Prune {
		if err := d.mayPrune(); err != nil {
			return p, err
		}
	}
	if o.Adopt && d.Config.Owner == "" {
		return p, fmt.Errorf("there is no owner to adopt jobs: %s has none, and almanac init makes one", ConfigFile)
	}
	var failed problems
	byCollection := map[string][]*Change{}
	for i := range d.Jobs {
		j := &d.Jobs[i]
		c := &Change{Collection: j.Collection, Name: j.Name, File: j.File, Line: j.Place().Line, job: j}
		for _, r := range j.References() {
			c.Secrets = append(c.Secrets, strings.TrimPrefix(r.Path, "properties."))
		}
		for _, l := range j.Literals() {
			c.Secrets = append(c.Secrets, strings.TrimPrefix(l.Path, "properties."))
			if !o.Literal {
				failed.add(&jobfile.Problem{At: l.At, Message: l.Path + ": a secret is not written into a file: " +
					"put a reference there, such as {$env: NAME}, or pass --allow-literal-secrets"})
			}
		}
		p.Changes = append(p.Changes, c)
		key := fields.Normalize(j.Collection)
		byCollection[key] = append(byCollection[key], c)
	}
	slices.SortFunc(p.Changes, func(a, b *Change) int {
		return cmp.Or(cmp.Compare(keyOf(a.Collection, ""), keyOf(b.Collection, "")), cmp.Compare(keyOf("", a.Name), keyOf("", b.Name)))
	})
	var g errgroup.Group
	g.SetLimit(4)
	for _, changes := range byCollection {
		g.Go(func() error {
			failed.add(p.read(ctx, changes, &failed))
			return nil
		})
	}
	_ = g.Wait() // the errors are in failed
	each(runtime.GOMAXPROCS(0), p.Changes, func(c *Change) { failed.add(p.compare(c)) })
	each(o.Parallel, p.Changes, func(c *Change) {
		if c.Action == Update && c.etag == "" { // an entry of a list has none
			failed.add(p.again(ctx, c))
		}
	})
	if err := failed.joined(); err != nil {
		return p, err
	}
	p.preview(ctx, &failed)
	if o.Prune {
		failed.add(p.findPruned(ctx))
	}
	return p, failed.joined()
}

// problems collects errors of calls at the same time.
type problems struct {
	mu  sync.Mutex
	all []error
}

func (p *problems) add(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, err)
}

// joined returns the errors, sorted; a hundred at most.
func (p *problems) joined() error {
	slices.SortFunc(p.all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	p.all = slices.CompactFunc(p.all, func(a, b error) bool { return a.Error() == b.Error() })
	const most = 100
	if more := len(p.all) - most; more > 0 {
		p.all = append(p.all[:most:most], fmt.Errorf("and %d more problems", more))
	}
	return errors.Join(p.all...)
}

// each calls do for each item, for so many at the same time.
func each[T any](parallel int, items []T, do func(T)) {
	var g errgroup.Group
	g.SetLimit(parallel)
	for _, item := range items {
		g.Go(func() error {
			do(item)
			return nil
		})
	}
	_ = g.Wait() // no call returns an error
}

// fewJobs is up to how many jobs of a collection are read one by one, and listedJobs up to how many in lists. Of more
// the digests are read, and those jobs whose digests are others.
const fewJobs, listedJobs = 20, 100

func byName(changes []*Change) map[string]*Change {
	named := map[string]*Change{}
	for _, c := range changes {
		named[keyOf("", c.Name)] = c
	}
	return named
}

// readDigests finds those jobs that are as the files want them by their digests. It returns those that have to be read,
// and whether the digests could be.
func (p *Plan) readDigests(ctx context.Context, changes []*Change) (left []*Change, ok bool) {
	named := byName(changes)
	found := map[*Change]client.Digest{}
	for d, err := range p.options.Client.Digests(ctx, changes[0].Collection) {
		if err != nil { // an older server has none, and a list says what is wrong
			return nil, false
		}
		_, name := client.NamesOf(d.Name)
		if c := named[keyOf("", name)]; c != nil {
			found[c] = d
		}
	}
	each(runtime.GOMAXPROCS(0), changes, func(c *Change) {
		if d, there := found[c]; there {
			p.match(c, d)
		}
	})
	for c := range found {
		if !c.same {
			left = append(left, c)
		}
	}
	return left, true
}

// match notes that a job is as its file wants it, if its digest says so.
func (p *Plan) match(c *Change, d client.Digest) {
	want, err := definitionOf(c.job, nil, p.options.Now())
	if err != nil || d.Digest == "" || d.Digest != want.Digest() || !d.PruneAt.IsZero() || p.adopts(d.Owner) {
		return
	}
	is := job.State(d.State)
	if c.job.Has("state") && want.State != is && !stays(want.State, is) {
		return
	}
	want.State = is
	c.is, c.etag, c.same, c.Action = &actual{definition: want, etag: d.ETag, owner: d.Owner}, d.ETag, true, Keep
	c.Owner = p.stranger(d.Owner)
}

// read reads the jobs of a collection that changes are about.
func (p *Plan) read(ctx context.Context, changes []*Change, failed *problems) error {
	if len(changes) <= fewJobs {
		each(p.options.Parallel, changes, func(c *Change) { failed.add(p.readOne(ctx, c)) })
		return nil
	}
	if len(changes) > listedJobs {
		left, ok := p.readDigests(ctx, changes)
		if ok && len(left) <= len(changes)/4 {
			each(p.options.Parallel, left, func(c *Change) { failed.add(p.readOne(ctx, c)) })
			return nil
		}
	}
	return patiently(ctx, func() error { return p.readList(ctx, changes, failed) })
}

// readList reads the jobs of a collection in a list.
func (p *Plan) readList(ctx context.Context, changes []*Change, failed *problems) error {
	wanted := byName(changes)
	collection := changes[0].Collection
	for body, err := range p.options.Client.JobBodies(ctx, collection, client.List{}) {
		if unread, ok := errors.AsType[*client.UnreadError](err); ok {
			_, name := client.NamesOf(unread.Name)
			if c := wanted[keyOf("", name)]; c != nil {
				failed.add(p.readOne(ctx, c))
			}
			continue
		}
		if err != nil {
			return missing(collection, err)
		}
		_, name := client.NamesOf(nameIn(body))
		if c := wanted[keyOf("", name)]; c != nil {
			if c.is, err = readActual(body, ""); err != nil {
				failed.add(fmt.Errorf("%s: %w", c.name(), err))
			}
		}
	}
	return nil
}

// missing explains that a job collection is not there.
func missing(collection string, err error) error {
	if client.IsNotFound(err) {
		return fmt.Errorf("job collection %s does not exist, or may not be seen: create it first (%w)", collection, err)
	}
	return fmt.Errorf("job collection %s: %w", collection, err)
}

// readOne reads the job that a change is about, if it is there.
func (p *Plan) readOne(ctx context.Context, c *Change) error {
	c.is, c.etag, c.same = nil, "", false
	var body json.RawMessage
	var etag string
	err := patiently(ctx, func() (err error) {
		body, etag, err = p.options.Client.JobBody(ctx, c.Collection, c.Name)
		return err
	})
	if client.IsNotFound(err) {
		return p.requireCollection(ctx, c.Collection)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	if c.is, err = readActual(body, etag); err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	c.etag = etag
	return nil
}

// requireCollection returns an error if a collection is not there.
func (p *Plan) requireCollection(ctx context.Context, name string) error {
	err := patiently(ctx, func() error {
		_, err := p.options.Client.Collection(ctx, name)
		return err
	})
	if err != nil {
		return missing(name, err)
	}
	return nil
}

// again reads the job of a change once more, and compares it.
func (p *Plan) again(ctx context.Context, c *Change) error {
	if err := p.readOne(ctx, c); err != nil {
		return err
	}
	return p.compare(c)
}

// adopts reports whether a job of that owner, "" for none, gets that of the directory.
func (p *Plan) adopts(owner string) bool { return p.options.Adopt && owner == "" }

// stranger returns an owner, if it is another than that of the directory.
func (p *Plan) stranger(owner string) string {
	if owner == p.config.Owner {
		return ""
	}
	return owner
}

// compare decides what has to be done.
func (p *Plan) compare(c *Change) error {
	if c.same {
		return nil
	}
	want, err := definitionOf(c.job, c.is, p.options.Now())
	if err != nil {
		return err
	}
	c.Action, c.Fields = Create, nil
	if c.is == nil {
		return nil
	}
	if c.Fields, err = differences(&c.is.definition, &want); err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	c.Owner = p.stranger(c.is.owner)
	if c.is.pruned != "" {
		c.Fields = append(c.Fields, Field{Path: "status.pruneAt", From: quoted(c.is.pruned)})
	}
	if p.adopts(c.is.owner) {
		c.Fields = append(c.Fields, Field{Path: "status.owner", To: quoted(p.config.Owner)})
	}
	c.Action = Keep
	if len(c.Fields) > 0 {
		c.Action = Update
	}
	return nil
}

// A Summary counts the jobs of a plan.
type Summary struct {
	Create    int `json:"create"`
	Update    int `json:"update"`
	Unchanged int `json:"unchanged"`
	Prune     int `json:"prune"`

	// Secrets are the jobs that stay as they are, but for secrets, which were not compared.
	Secrets int `json:"secretsNotCompared"`
}

// Summary returns how many jobs of a plan have to be created and changed.
func (p *Plan) Summary() (s Summary) {
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			s.Create++
		case Update:
			s.Update++
		case Prune:
			s.Prune++
		default:
			s.Unchanged++
			if len(c.Secrets) > 0 && !c.compared {
				s.Secrets++
			}
		}
	}
	return s
}

// Changed returns whether anything has to be done.
func (p *Plan) Changed() bool {
	s := p.Summary()
	return s.Create+s.Update+s.Prune > 0
}

// sent reports whether an apply sends the job of a change: secrets are sent again.
func (c *Change) sent() bool { return c.Action != Keep || len(c.Secrets) > 0 && !c.compared }

// Sends returns how many jobs an apply sends.
func (p *Plan) Sends() (n int) {
	for _, c := range p.Changes {
		if c.sent() {
			n++
		}
	}
	return n
}
