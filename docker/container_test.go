package docker_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// directory holds the program, for all tests.
var directory string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(directory)
	os.Exit(code)
}

// program is Almanac, built once for all tests, with the embedded server.
var program = sync.OnceValues(func() (_ string, err error) {
	if directory, err = os.MkdirTemp("", "almanac-docker-"); err != nil {
		return "", err
	}
	path := filepath.Join(directory, "almanac")
	out, err := exec.Command("go", "build", "-C", "..", "-ldflags=-s -w", "-o", path, "./cmd/almanac").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

func almanac(t *testing.T) string {
	t.Helper()
	path, err := program()
	require.NoError(t, err, path)
	return path
}

// A container is a process of Almanac on a host, with a root directory of its own, as the image has one, and as the
// image's user.
type container struct {
	t    *testing.T
	on   *host
	root string
	env  []string
}

// containerUser is the user of the image.
const containerUser = 65532

// newContainer returns a container of the slim image. environment, and files by their path, are added. hosts are lines
// of /etc/hosts.
func newContainer(t *testing.T, on *host, environment, files map[string]string, hosts string) *container {
	t.Helper()
	c := &container{t: t, on: on, root: t.TempDir(), env: []string{"GODEBUG=netdns=go"}}
	require.NoError(t, os.Chmod(c.root, 0o755))
	for parent := c.root; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		require.NoError(t, os.Chmod(parent, 0o755))
	}
	given := imageEnvironment(t)
	for name, value := range environment {
		given[name] = value
	}
	for name, value := range given {
		c.env = append(c.env, name+"="+value)
	}
	c.write("etc/hosts", hosts)
	for path, text := range files {
		c.write(path, text)
	}
	c.copy(almanac(t), "almanac")
	out, _ := exec.Command("ldd", almanac(t)).Output() // fails for a static program
	for _, library := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
		c.copy(library[1], library[1])
	}
	return c
}

// imageEnvironment returns what the slim image sets.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	file, err := parser.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	stages, _, err := instructions.Parse(file.AST, nil)
	require.NoError(t, err)
	set := map[string]string{}
	for _, stage := range stages {
		if stage.Name != "base" && stage.Name != "slim" {
			continue
		}
		for _, command := range stage.Commands {
			if env, ok := command.(*instructions.EnvCommand); ok {
				for _, pair := range env.Env {
					set[pair.Key] = pair.Value
				}
			}
		}
	}
	return set
}

func (c *container) write(path, text string) {
	c.t.Helper()
	path = filepath.Join(c.root, path)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o644))
}

// directory makes a directory to which the container writes.
func (c *container) directory(path string) {
	c.t.Helper()
	path = filepath.Join(c.root, path)
	require.NoError(c.t, os.MkdirAll(path, 0o755))
	require.NoError(c.t, os.Chmod(path, 0o777))
}

func (c *container) copy(from, to string) {
	c.t.Helper()
	to = filepath.Join(c.root, to)
	from, err := filepath.EvalSymlinks(from)
	require.NoError(c.t, err)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(to), 0o755))
	if os.Link(from, to) == nil {
		return
	}
	text, err := os.ReadFile(from)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(to, text, 0o755))
}

// A running is a process of a container.
type running struct {
	*exec.Cmd
	log output
}

// An output is what a process has written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command returns a command of the image.
func (c *container) command(line []string) *exec.Cmd {
	line = slices.DeleteFunc(slices.Clone(line), func(s string) bool { return s == "CMD" || s == "/almanac" })
	return &exec.Cmd{
		Path: "/almanac", Args: append([]string{"/almanac"}, line...), Env: c.env, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: containerUser, Gid: containerUser}},
	}
}

// begin starts a command on the host, with what the kernel shows of processes.
func (c *container) begin(p *exec.Cmd) error {
	return c.on.in(func() error { // whose thread ends, and the mount with the process
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		proc := filepath.Join(c.root, "proc")
		if err := os.MkdirAll(proc, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("/proc", proc, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		return p.Start()
	})
}

// start starts a command of the image.
func (c *container) start(line []string) *running {
	c.t.Helper()
	require.NotEmpty(c.t, line)
	p := &running{Cmd: c.command(line)}
	p.Stdout, p.Stderr = &p.log, &p.log
	require.NoError(c.t, c.begin(p.Cmd))
	c.t.Cleanup(func() {
		p.stop()
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", strings.Join(line, " "), &p.log)
		}
	})
	return p
}

func (p *running) stop() {
	if p.ProcessState == nil {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}

// run runs a command of the image to its end.
func (c *container) run(command []string) error {
	c.t.Helper()
	return c.start(command).Wait()
}

// becomes waits until a command of the image succeeds, such as its health check.
func (c *container) becomes(what string, command []string) {
	c.t.Helper()
	eventually(c.t, what, func() bool {
		p := c.command(command)
		return c.begin(p) == nil && p.Wait() == nil
	})
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	limit := time.After(3 * time.Minute)
	for !condition() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-limit:
			require.FailNow(t, "there is no "+what)
		}
	}
}
