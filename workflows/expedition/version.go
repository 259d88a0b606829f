package expedition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Build is the build that a worker is of, by which Temporal tells whom to give the tasks of a workflow. The zero Build is none:
// then any worker of the task queue gets them.
type Build struct {
	// Deployment is what all builds of an installation have in common, ID what this one has not. Both or neither are set.
	Deployment, ID string
}

// options tell Temporal of the build.
//
// Expeditions are upgraded: from the moment at which a build is made current, the tasks of all of them go to its workers, also
// of those that began under another. They last for weeks, so those pinned to their first build would keep its workers alive
// for weeks after each deployment. What makes it safe is what makes workers without versions safe: histories of every
// released path are replayed before a build is released.
func (b Build) options() (worker.DeploymentOptions, error) {
	switch {
	case b == Build{}:
		return worker.DeploymentOptions{}, nil
	case b.Deployment == "" || b.ID == "":
		return worker.DeploymentOptions{}, errors.New("expedition: a build has a deployment and an id, or neither")
	}
	return worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: b.Deployment, BuildID: b.ID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}, nil
}

// MakeCurrent gives the tasks of all expeditions to the workers of a build from now on. It waits until Temporal knows of
// such a worker, as long as the context lasts. It may be repeated, and it is the way back to an older build, too.
func MakeCurrent(ctx context.Context, temporal client.Client, b Build) error {
	if _, err := b.options(); err != nil || b == (Build{}) {
		return errors.Join(err, errors.New("expedition: no build is named"))
	}
	handle := temporal.WorkerDeploymentClient().GetHandle(b.Deployment)
	for {
		_, err := handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: b.ID})
		var (
			notFound *serviceerror.NotFound
			notYet   *serviceerror.FailedPrecondition
		)
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &notFound) && !errors.As(err, &notYet):
			return fmt.Errorf("make build %s of %s the current one: %w", b.ID, b.Deployment, err)
		}
		if pause(ctx, 250*time.Millisecond) != nil {
			return fmt.Errorf("no worker of build %s of %s is there: %w", b.ID, b.Deployment, err)
		}
	}
}
