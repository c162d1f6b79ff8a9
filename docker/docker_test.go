// Package docker_test checks the files of this directory as far as that can be done without an engine or a
// cluster: each is parsed strictly, by the library of the tool that reads it.
package docker_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// compose returns the project of a Compose file.
func compose(t *testing.T, name string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{name}, cli.WithWorkingDirectory("."), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	project, err := options.LoadProject(context.Background())
	require.NoError(t, err)
	return project
}

// The APIs of a cluster are behind one address: a session that one has begun counts at all, and callers are told apart.
func TestTheAPIsOfAClusterShareTheirSessionsAndKnowTheirProxies(t *testing.T) {
	t.Parallel()
	project := compose(t, "compose.cluster.yaml")
	var proxies []string
	for network, at := range project.Services["proxy"].Networks {
		address, err := netip.ParseAddr(at.Ipv4Address)
		require.NoError(t, err)
		subnet, err := netip.ParsePrefix(project.Networks[network].Ipam.Config[0].Subnet)
		require.NoError(t, err)
		dynamic, err := netip.ParsePrefix(project.Networks[network].Ipam.Config[0].IPRange)
		require.NoError(t, err)
		require.True(t, subnet.Contains(address) && subnet.Overlaps(dynamic) && !dynamic.Contains(address), "no other container gets %s", address)
		proxies = append(proxies, at.Ipv4Address)
	}
	require.Len(t, proxies, 2)
	gateway := project.Networks["outside"].Ipam.Config[0].Gateway
	require.Equal(t, gateway, *project.Services["proxy"].Environment["GATEWAY"])
	for _, name := range []string{"api-1", "api-2"} {
		api := project.Services[name]
		require.ElementsMatch(t, append(proxies, gateway), strings.Split(*api.Environment["ALMANAC_TRUSTED_PROXIES"], ","))
		require.Equal(t, "/run/secrets/session-key", *api.Environment["ALMANAC_SESSION_KEY_FILE"])
		require.True(t, slices.ContainsFunc(api.Secrets, func(s types.ServiceSecretConfig) bool { return s.Source == "session-key" }))
	}

	for _, object := range build(t, "cluster", false) {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			require.NotEmpty(t, o.Data["ALMANAC_TRUSTED_PROXIES"])
			require.Equal(t, "/etc/almanac-session/key", o.Data["ALMANAC_SESSION_KEY_FILE"])
		case *appsv1.Deployment:
			shares := slices.ContainsFunc(o.Spec.Template.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/almanac-session" })
			require.Equal(t, o.Name == "almanac-api", shares, o.Name)
		}
	}
}

// Every service of a cluster is kept from jobs, on every port.
func TestJobsDoNotReachTheServicesOfACluster(t *testing.T) {
	t.Parallel()
	project := compose(t, "compose.cluster.yaml")
	for name, s := range project.Services {
		if s.Restart != types.RestartPolicyUnlessStopped {
			continue // it ends when it has done its work
		}
		for _, process := range []string{"api-1", "api-2", "worker-1", "worker-2"} {
			environment := project.Services[process].Environment
			require.Contains(t, strings.Split(*environment["ALMANAC_EGRESS_PROTECT"], ","), name, process)
			require.Equal(t, project.Networks["inside"].Ipam.Config[0].Subnet, *environment["ALMANAC_EGRESS_DENY"])
		}
	}
	for overlay, hosts := range map[string][]string{"node": {"almanac"}, "cluster": {"almanac", "almanac-pods", "temporal-frontend-headless.temporal"}} {
		for _, object := range build(t, overlay, false) {
			if o, ok := object.(*corev1.ConfigMap); ok {
				require.Subset(t, strings.Split(o.Data["ALMANAC_EGRESS_PROTECT"], ","), hosts)
				require.NotEmpty(t, o.Data["ALMANAC_TRUSTED_PROXIES"])
			}
		}
	}
}

// A Job cannot be changed, so that applying the next version would fail.
func TestAnotherVersionOfAClusterCanBeApplied(t *testing.T) {
	t.Parallel()
	setup := false
	for _, object := range build(t, "cluster", false) {
		require.NotEqual(t, "Job", object.GetObjectKind().GroupVersionKind().Kind)
		if o, ok := object.(*appsv1.Deployment); ok {
			for _, c := range o.Spec.Template.Spec.InitContainers {
				setup = setup || c.Args[0] == "setup" && *c.SecurityContext.ReadOnlyRootFilesystem
			}
		}
	}
	require.True(t, setup, "something prepares the namespace")
}

func TestComposeFilesAreStrict(t *testing.T) {
	t.Parallel()
	for name, healthy := range map[string][]string{
		"compose.yaml":         nil, // the image has a health check
		"compose.cluster.yaml": {"api-1", "api-2", "postgres", "proxy", "temporal", "worker-1", "worker-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project := compose(t, name)
			for service, s := range project.Services {
				for _, p := range s.Ports {
					require.Equal(t, "127.0.0.1", p.HostIP, "%s publishes a port to all networks, without TLS", service)
				}
				if strings.Contains(s.Image, "almanac") {
					require.True(t, s.ReadOnly && slices.Contains(s.CapDrop, "ALL"), service)
					known(t, service, s.Environment)
					if takesCallers(s.Command) {
						checkTokens(t, service, s)
					}
				}
				for other, condition := range s.DependsOn {
					if condition.Condition == types.ServiceConditionHealthy {
						require.NotNil(t, project.Services[other].HealthCheck, "%s waits for the health of %s", service, other)
					}
				}
			}
			for _, service := range healthy {
				require.NotNil(t, project.Services[service].HealthCheck, service)
			}
			for _, c := range project.Configs {
				require.FileExists(t, c.File)
			}
		})
	}
}

// takesCallers reports whether a command of Almanac has an API.
func takesCallers(command []string) bool {
	return len(command) > 0 && (command[0] == "server" || command[0] == "api")
}

// checkTokens fails if a service lets strangers in, or would not see that its file of tokens is replaced, as a mount
// of the file itself would not.
func checkTokens(t *testing.T, name string, service types.ServiceConfig) {
	t.Helper()
	require.NotContains(t, service.Environment, "ALMANAC_UNAUTHENTICATED", name)
	require.NotNil(t, service.Environment["ALMANAC_TOKEN_FILE"], name)
	directory := path.Dir(*service.Environment["ALMANAC_TOKEN_FILE"])
	require.True(t, slices.ContainsFunc(service.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Type == types.VolumeTypeBind && v.ReadOnly && v.Target == directory
	}), "%s mounts no %s", name, directory)
}

// known fails if Almanac has no such variable.
func known(t *testing.T, where string, environment types.MappingWithEquals) {
	t.Helper()
	for name := range environment {
		isKnown(t, where, name)
	}
}

func isKnown(t *testing.T, where, name string) {
	t.Helper()
	if strings.HasPrefix(name, "TEMPORAL_") {
		return // Temporal's own
	}
	documented, err := os.ReadFile("../docs/configuration.md")
	require.NoError(t, err)
	require.True(t, bytes.Contains(documented, []byte("`"+name+"`")), "%s: docs/configuration.md has no %s", where, name)
}

func TestTheDockerfileIsStrict(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	file, err := parser.Parse(bytes.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, file.Warnings)
	stages, _, err := instructions.Parse(file.AST, nil)
	require.NoError(t, err)
	var names []string
	for _, stage := range stages {
		names = append(names, stage.Name)
		for _, command := range stage.Commands {
			if env, ok := command.(*instructions.EnvCommand); ok {
				for _, pair := range env.Env {
					if strings.HasPrefix(pair.Key, "ALMANAC_") {
						isKnown(t, stage.Name, pair.Key)
					}
				}
			}
		}
	}
	require.Equal(t, "full", names[len(names)-1], "the default")
	require.Contains(t, names, "slim")
}

// Temporal's server does not start for a user that it cannot look up. A static program knows those in /etc/passwd,
// which an image does not have and which has no DynamicUser of systemd, and else the one in $USER and $HOME.
func TestTheUserOfANodeHasANameAndAHome(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^ENV USER=\S+ HOME=/`, string(dockerfile))
	unit, err := os.ReadFile("systemd/almanac.service")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Environment=HOME=%S/almanac$`, string(unit), "systemd sets $USER itself")
}

// Every package of the program is in the context of the build.
func TestTheBuildHasWhatItNeeds(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("go", "list", "-C", "..", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./cmd/almanac").Output()
	require.NoError(t, err)
	ignored, err := os.ReadFile("../.dockerignore")
	require.NoError(t, err)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	for dir := range strings.FieldsSeq(string(list)) {
		path, err := filepath.Rel(root, dir)
		require.NoError(t, err)
		top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		require.Contains(t, strings.Fields(string(ignored)), "!"+top)
	}
}

// docs/deploy.md says what the build tags of releases and images leave out.
func TestTheBuildTagsLeaveOutWhatNothingUses(t *testing.T) {
	t.Parallel()
	list, err := exec.Command("go", "list", "-C", "..", "-deps", "-tags", "release,nomsgpack", "./cmd/almanac").Output()
	require.NoError(t, err)
	require.Contains(t, string(list), "go.temporal.io/server/temporal\n")
	require.NotContains(t, string(list), "k8s.io/")
	require.NotContains(t, string(list), "github.com/ugorji/")
}

func TestKubernetesObjectsAreStrict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		overlay string
		kinds   []string
	}{
		{"node", []string{"ConfigMap", "NetworkPolicy", "Service", "ServiceAccount", "StatefulSet"}},
		{"cluster", []string{"ConfigMap", "Deployment", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "PodDisruptionBudget", "Service", "Service", "ServiceAccount"}},
	} {
		t.Run(tt.overlay, func(t *testing.T) {
			t.Parallel()
			for _, components := range []bool{false, true} {
				var kinds []string
				for _, object := range build(t, tt.overlay, components) {
					kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
					checkObject(t, object, components)
				}
				want := slices.Clone(tt.kinds)
				if components {
					want = append(want, "NetworkPolicy", "PodMonitor")
				}
				require.ElementsMatch(t, want, kinds)
			}
		})
	}
}

// build returns the objects of an overlay, decoded strictly; with the optional components, if asked for.
func build(t *testing.T, overlay string, components bool) []runtime.Object {
	t.Helper()
	files := filesys.MakeFsInMemory()
	require.NoError(t, filepath.WalkDir("kubernetes", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if components {
			text = bytes.ReplaceAll(text, []byte("# components:"), []byte("components:"))
		}
		return files.WriteFile(path, text)
	}))
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = kustomize.LoadRestrictionsRootOnly
	resources, err := krusty.MakeKustomizer(options).Run(files, "kubernetes/"+overlay)
	require.NoError(t, err)
	all := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(all))
	require.NoError(t, monitoringv1.AddToScheme(all))
	decode := serializer.NewCodecFactory(all, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		object, _, err := decode.Decode(text, nil, nil)
		require.NoError(t, err, string(text))
		objects = append(objects, object)
	}
	return objects
}

// tokens is where the secret of tokens is mounted.
const tokens = "/etc/almanac-tokens"

// checkObject checks what the schema of an object does not say.
func checkObject(t *testing.T, object runtime.Object, encrypted bool) {
	t.Helper()
	var pod *corev1.PodTemplateSpec
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		pod = &o.Spec.Template
		require.Subset(t, pod.Labels, o.Spec.Selector.MatchLabels)
	case *appsv1.Deployment:
		pod = &o.Spec.Template
		require.Subset(t, pod.Labels, o.Spec.Selector.MatchLabels)
	case *corev1.ConfigMap:
		for name := range o.Data {
			isKnown(t, o.Name, name)
		}
		require.NotContains(t, o.Data, "ALMANAC_UNAUTHENTICATED")
		require.Equal(t, tokens+"/tokens.yaml", o.Data["ALMANAC_TOKEN_FILE"])
		return
	case *monitoringv1.PodMonitor:
		require.Equal(t, map[string]string{"app.kubernetes.io/name": "almanac"}, o.Spec.Selector.MatchLabels)
		return
	case *networkingv1.NetworkPolicy:
		require.Empty(t, o.Spec.PodSelector, "it is for all pods")
		admitted := map[string]map[string]string{
			"almanac":         {"almanac-client": "true"},
			"almanac-metrics": {"app.kubernetes.io/name": "prometheus"},
		}
		require.Equal(t, admitted[o.Name], o.Spec.Ingress[0].From[0].PodSelector.MatchLabels)
		return
	default:
		return
	}
	require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot)
	c := pod.Spec.Containers[0]
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.NotNil(t, c.ReadinessProbe)
	require.NotNil(t, c.LivenessProbe)
	require.Regexp(t, regexp.MustCompile("^almanac(-slim)?:latest$"), c.Image)
	mounts := func(directory string) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == directory && m.SubPath == "" })
	}
	require.Equal(t, encrypted, mounts("/etc/almanac"))
	require.Equal(t, takesCallers(c.Args), mounts(tokens), c.Args)
}

// systemd checks its own files.
func TestTheSystemdUnitIsValid(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		require.Empty(t, os.Getenv("CI"), "systemd-analyze must be there in CI")
		t.Skip("systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("systemd/almanac.service")
	require.NoError(t, err)
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/almanac"), []byte("/bin/true")) // which must exist
	file := filepath.Join(t.TempDir(), "almanac.service")
	require.NoError(t, os.WriteFile(file, unit, 0o600))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out))
}
