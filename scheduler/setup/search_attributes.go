package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"almanac/internal/wfclient"
	"almanac/scheduler"
)

// SearchAttributes adds the search attributes that the namespace lacks, and returns their names. It returns when
// Temporal lists workflows by all of them, or when ctx ends. If Temporal does not let this client add them, those
// that exist are enough, and the error about missing ones is a [RefusedError]. Optional ones may be among them, or be all.
func SearchAttributes(ctx context.Context, c client.Client, namespace string) (added []string, err error) {
	missing, err := missingAttributes(ctx, c, namespace)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	wanted := map[string]enums.IndexedValueType{}
	for _, name := range missing {
		wanted[name] = scheduler.SearchAttributes()[name]
	}
	request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: wanted}
	for {
		_, err = c.OperatorService().AddSearchAttributes(ctx, request)
		if !IsNamespaceMissing(err) || wfclient.Sleep(ctx, pause) != nil {
			break
		}
	}
	switch {
	case refused(err):
		return nil, &RefusedError{Optional: !slices.ContainsFunc(missing, required), Missing: "search attributes are missing: " + strings.Join(missing, ", "), Commands: []string{addCommand(namespace, missing)}, Err: err}
	case err != nil:
		return nil, fmt.Errorf("add search attributes to namespace %q: %w", namespace, err)
	}
	for _, name := range missing {
		if err := awaitAttribute(ctx, c, namespace, name); err != nil {
			return nil, fmt.Errorf("wait until workflows can be listed by the search attribute %s: %w", name, err)
		}
	}
	return missing, nil
}

func required(attribute string) bool { return !scheduler.Optional(attribute) }

// missingAttributes returns the names of the search attributes that the namespace lacks, sorted.
func missingAttributes(ctx context.Context, c client.Client, namespace string) (missing []string, err error) {
	wanted := scheduler.SearchAttributes()
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	switch {
	case refused(err):
		return unlistable(ctx, c, namespace, slices.Sorted(maps.Keys(wanted)))
	case err != nil:
		return nil, fmt.Errorf("list the search attributes of namespace %q: %w", namespace, err)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		switch found, exists := known.GetCustomAttributes()[name]; {
		case !exists:
			missing = append(missing, name)
		case found != wanted[name]:
			return nil, fmt.Errorf("the search attribute %s of namespace %q has type %s, and Almanac needs %s: have an operator of Temporal remove it, or choose another namespace",
				name, namespace, found, wanted[name])
		}
	}
	return missing, nil
}

// unlistable returns those of the names by which Temporal does not list workflows.
func unlistable(ctx context.Context, c client.Client, namespace string, names []string) (missing []string, err error) {
	for _, name := range names {
		exists, err := listable(ctx, c, namespace, name)
		if err != nil {
			return nil, fmt.Errorf("look for the search attribute %s: %w", name, err)
		}
		if !exists {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// awaitAttribute returns when Temporal lists workflows by a new search attribute.
func awaitAttribute(ctx context.Context, c client.Client, namespace, name string) error {
	for {
		if exists, err := listable(ctx, c, namespace, name); err != nil || exists {
			return err
		}
		if err := wfclient.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// listable reports whether Temporal lists workflows by a search attribute. A client that may not list workflows
// gets true.
func listable(ctx context.Context, c client.Client, namespace, name string) (bool, error) {
	_, err := c.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: name + ` = "almanac setup"`,
	})
	switch {
	case err == nil || refused(err):
		return true, nil
	case serviceerror.ToStatus(err).Code() == codes.InvalidArgument:
		return false, nil
	}
	return false, err
}

// addCommand returns the command that adds search attributes, all of type Keyword.
func addCommand(namespace string, names []string) string {
	return "temporal operator search-attribute create --namespace " + quoted(namespace) +
		" --name " + strings.Join(names, " --type Keyword --name ") + " --type Keyword"
}
