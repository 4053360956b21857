/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Executing programs: reports one that is linked statically with RDMA libraries. No library can be
 * given to it, so it finds no device. These calls may run in a child of vfork(). */
#include <spawn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/preload/foreign.h"
#include "runtime/preload/lookup.h"

ADV_INTERPOSE int execve(const char *path, char *const argv[], char *const envp[])
{
	int (*call)(const char *, char *const *, char *const *) = adv_next(ADV_NEXT("execve"));

	adv_foreign_check_program(path, false);
	return call(path, argv, envp);
}

ADV_INTERPOSE int execv(const char *path, char *const argv[])
{
	int (*call)(const char *, char *const *) = adv_next(ADV_NEXT("execv"));

	adv_foreign_check_program(path, false);
	return call(path, argv);
}

ADV_INTERPOSE int execvp(const char *name, char *const argv[])
{
	int (*call)(const char *, char *const *) = adv_next(ADV_NEXT("execvp"));

	adv_foreign_check_program(name, true);
	return call(name, argv);
}

ADV_INTERPOSE int execvpe(const char *name, char *const argv[], char *const envp[])
{
	int (*call)(const char *, char *const *, char *const *) = adv_next(ADV_NEXT("execvpe"));

	adv_foreign_check_program(name, true);
	return call(name, argv, envp);
}

ADV_INTERPOSE int posix_spawn(pid_t *pid, const char *path,
			      const posix_spawn_file_actions_t *actions,
			      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	__typeof__(posix_spawn) *call = adv_next(ADV_NEXT("posix_spawn"));

	adv_foreign_check_program(path, false);
	return call(pid, path, actions, attr, argv, envp);
}

ADV_INTERPOSE int posix_spawnp(pid_t *pid, const char *name,
			       const posix_spawn_file_actions_t *actions,
			       const posix_spawnattr_t *attr, char *const argv[],
			       char *const envp[])
{
	__typeof__(posix_spawnp) *call = adv_next(ADV_NEXT("posix_spawnp"));

	adv_foreign_check_program(name, true);
	return call(pid, name, actions, attr, argv, envp);
}
