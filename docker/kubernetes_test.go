package docker_test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// forward passes connections to a port of a host on to an address, as a service does with those to its pods.
func (h *host) forward(port, to string) {
	h.t.Helper()
	l := h.listen(port)
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				behind, err := h.dial(h.t.Context(), "tcp", to)
				if err != nil {
					return
				}
				defer behind.Close()
				go func() {
					_, _ = io.Copy(behind, from)
					behind.Close()
				}()
				_, _ = io.Copy(from, behind)
			}()
		}
	}()
}

// knowsNoName has a host answer as a name server that does not know any name: others are in /etc/hosts.
func (h *host) knowsNoName() {
	h.t.Helper()
	var l net.PacketConn
	require.NoError(h.t, h.in(func() (err error) {
		l, err = net.ListenPacket("udp4", ":53")
		return err
	}))
	h.t.Cleanup(func() { l.Close() })
	go func() {
		for text := make([]byte, 4096); ; {
			n, from, err := l.ReadFrom(text)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(text[:n]) != nil {
				continue
			}
			m.Response, m.RecursionAvailable, m.RCode, m.Additionals = true, true, dnsmessage.RCodeNameError, nil
			if answer, err := m.Pack(); err == nil {
				_, _ = l.WriteTo(answer, from)
			}
		}
	}()
}

// pod returns a container with what the container of a pod has, from an overlay, on a host; and its arguments.
func (c *cluster) pod(on *host, spec *corev1.PodSpec, of *corev1.Container, settings, more map[string]string) (*container, []string) {
	c.t.Helper()
	environment := maps.Clone(settings)
	require.NotEmpty(c.t, of.EnvFrom[0].ConfigMapRef.Name)
	for _, e := range of.Env {
		environment[e.Name] = e.Value
	}
	maps.Copy(environment, more)
	secrets := map[string]map[string]string{
		"almanac-tokens": {"tokens.yaml": c.tokens}, "almanac-session": {"key": c.secrets["session-key"]}, "almanac-encryption-keys": {"keys": c.secrets["encryption-keys"]},
	}
	files, modes, empty := map[string]string{}, map[string]os.FileMode{}, []string{}
	for _, m := range of.VolumeMounts {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		require.GreaterOrEqual(c.t, i, 0, m.Name)
		if spec.Volumes[i].EmptyDir != nil {
			empty = append(empty, m.MountPath)
			continue
		}
		require.NotNil(c.t, secrets[spec.Volumes[i].Secret.SecretName], spec.Volumes[i].Secret.SecretName)
		for name, text := range secrets[spec.Volumes[i].Secret.SecretName] {
			files[path.Join(m.MountPath, name)] = text
			if mode := spec.Volumes[i].Secret.DefaultMode; mode != nil {
				modes[path.Join(m.MountPath, name)] = os.FileMode(*mode)
			}
		}
	}
	made := newContainer(c.t, on, environment, files, c.lines.String())
	for _, directory := range empty {
		made.directory(directory)
	}
	for file, mode := range modes {
		file = filepath.Join(made.root, file)
		if group := spec.SecurityContext.FSGroup; group != nil {
			require.NoError(c.t, os.Chown(file, 0, int(*group)))
		}
		require.NoError(c.t, os.Chmod(file, mode))
	}
	made.write("etc/resolv.conf", "nameserver 10.50.0.53\n")
	return made, of.Args
}

// The objects of kubernetes/cluster, with the optional components, are run as far as that can be done without
// Kubernetes: two pods of each deployment, each on a host of its own, with that command, those settings and those
// secrets, after what prepares them. Services are addresses that pass connections on. There are no network policies and
// no volumes.
func TestTheClusterOfKubernetesRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	settings, deployments := map[string]string{}, map[string]*appsv1.Deployment{}
	for _, object := range build(t, "cluster", true) {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			settings = o.Data
		case *appsv1.Deployment:
			deployments[o.Name] = o
		}
	}
	pods := map[string]string{"api-1": "10.50.0.21", "api-2": "10.50.0.22", "worker-1": "10.50.0.31", "worker-2": "10.50.0.32"}
	const bits = "/24"
	c.add([]string{"temporal-frontend-headless.temporal"}, "10.50.0.11"+bits)
	c.add([]string{"temporal-frontend.temporal", "temporal-frontend.temporal.svc.cluster.local"}, "10.50.0.10"+bits)
	c.add([]string{"temporal-web.temporal"}, "10.50.0.12"+bits)
	c.add([]string{"almanac", "almanac.almanac.svc.cluster.local"}, "10.50.0.20"+bits)
	for name, address := range pods {
		c.add([]string{name}, address+bits)
		c.lines.WriteString(address + " almanac-pods\n") // it has no address of its own
	}
	c.add(nil, "10.50.0.53"+bits).knowsNoName()
	ingress := c.add([]string{"ingress"}, "10.50.0.90"+bits)
	stranger := c.add([]string{"stranger"}, "203.0.113.7"+bits)
	c.add([]string{"target"}, "10.50.0.91"+bits)
	c.counts("target", "9000")
	c.counts("temporal-frontend-headless.temporal", "7243", "9100")
	c.counts("temporal-frontend.temporal", "7243")
	c.counts("temporal-web.temporal", "8080", "9100")
	c.names["temporal-frontend.temporal"].forward("7233", "10.50.0.11:7233")
	c.names["almanac"].forward("80", pods["api-1"]+":8080")
	c.runTemporal(c.names["temporal-frontend-headless.temporal"])

	start := func(more map[string]string) (all []*running) {
		for _, name := range []string{"worker-1", "worker-2", "api-1", "api-2"} {
			kind, _, _ := strings.Cut(name, "-")
			spec := &deployments["almanac-"+kind].Spec.Template.Spec
			for i := range spec.InitContainers {
				one, arguments := c.pod(c.names[name], spec, &spec.InitContainers[i], settings, more)
				require.NoError(t, one.run(arguments))
			}
			one, arguments := c.pod(c.names[name], spec, &spec.Containers[0], settings, more)
			all = append(all, one.start(arguments))
		}
		for _, name := range []string{"worker-1", "worker-2", "api-1", "api-2"} {
			// a worker waits for a namespace that an API's pod creates
			kind, _, _ := strings.Cut(name, "-")
			of := deployments["almanac-"+kind].Spec.Template.Spec.Containers[0]
			probe := of.ReadinessProbe.HTTPGet
			i := slices.IndexFunc(of.Ports, func(p corev1.ContainerPort) bool { return p.Name == probe.Port.StrVal })
			port := of.Ports[i].ContainerPort
			eventually(t, "readiness of "+name, func() bool {
				answer, err := c.names["ingress"].client().Get("http://" + pods[name] + ":" + strconv.Itoa(int(port)) + probe.Path)
				if err != nil {
					return false
				}
				defer answer.Body.Close()
				return answer.StatusCode == http.StatusOK
			})
		}
		return all
	}
	processes := start(nil)
	first, second := &api{c, ingress, pods["api-1"] + ":8080", "almanac"}, &api{c, ingress, pods["api-2"] + ":8080", "almanac.almanac.svc"}
	c.requireOneDoor(first, second, &api{c, stranger, pods["api-2"] + ":8080", "almanac"})
	service := &api{c, ingress, "10.50.0.20:80", "almanac"}
	code, text := service.owner(http.MethodGet, "/jobCollections", "")
	require.Equal(t, http.StatusOK, code, text)
	refused := []string{
		"temporal-frontend.temporal:7243", "10.50.0.10:7243", "temporal-frontend.temporal.svc.cluster.local:7243", "temporal-frontend-headless.temporal:7243", "10.50.0.11:7243",
		"temporal-frontend.temporal:7233", "10.50.0.11:7233", "10.50.0.11:9100", "temporal-web.temporal:8080", "10.50.0.12:8080",
		"almanac", "almanac.almanac.svc.cluster.local", "10.50.0.20", "almanac-pods:8080", "10.50.0.21:8080", "10.50.0.22:8080", "10.50.0.31:8081", "10.50.0.32:8081",
	}
	c.requireKept(first, refused, "target:9000")

	for _, p := range processes {
		p.stop()
	}
	start(map[string]string{"ALMANAC_EGRESS_ALLOW": "10.50.0.12:9100"})
	require.Contains(t, first.outcome("excepted", "http://10.50.0.12:9100/"), "Completed")
	require.Contains(t, second.outcome("other", "http://10.50.0.12:8080/"), ownHost)
}
