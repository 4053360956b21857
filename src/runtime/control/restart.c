/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/control/restart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/sys.h"
#include "runtime/control/message.h"
#include "runtime/control/start.h"

/* Time after which another adverbd is started, because the process that starts one may have been
 * stopped. */
#define START_AGAIN_MS 3000
#define STARTS_MOST    4 /* most starts within STARTS_MS */
#define STARTS_MS      60000

void adv_control_restart_init(struct adv_control_restart *r)
{
	*r = (struct adv_control_restart){.carrier = -1, .lock = -1, .said = -1};
}

void adv_control_restart_keep(struct adv_control_restart *r, int carrier)
{
	adv_control_close_fd(&r->carrier);
	r->carrier = carrier;
	if (!r->starter)
		r->starter = adv_control_starter_new();
	r->uid = geteuid();
	r->seccomp = prctl(PR_GET_SECCOMP);
}

void adv_control_restart_close(struct adv_control_restart *r)
{
	r->due = false;
	adv_control_close_fd(&r->carrier);
	adv_control_close_fd(&r->lock);
	adv_control_close_fd(&r->said);
}

void adv_control_restart_free(struct adv_control_restart *r)
{
	adv_control_starter_free(r->starter);
	r->starter = NULL;
}

void adv_control_restart_done(struct adv_control_restart *r)
{
	adv_control_close_fd(&r->lock);
	adv_control_close_fd(&r->said);
	r->again = 0;
	r->due = false;
}

/* True if this process can start the right adverbd. A process that has changed its user would start
 * the adverbd of another user. A process that has since entered a seccomp filter may be killed if
 * it starts a program. */
static bool may_start(const struct adv_control_restart *r)
{
	return r->starter && !r->unable && geteuid() == r->uid &&
	       prctl(PR_GET_SECCOMP) == r->seccomp;
}

/* Acquires the name that marks the starting client. True if this process holds it; then no other
 * client starts adverbd. */
static bool acquire_name(struct adv_control_restart *r)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s-%u%s", ADV_CONTROL_NAME,
			 (unsigned)r->uid, ADV_CONTROL_NAME_STARTING);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	if (r->lock >= 0)
		return true;
	r->lock = adv_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (r->lock >= 0 && adv_sys_bind(r->lock, &a, len) == 0)
		return true;
	adv_control_close_fd(&r->lock);
	return false;
}

static void mark_unable(struct adv_control_restart *r)
{
	r->unable = true;
	r->again = 0;
	adv_control_close_fd(&r->lock);
}

/* Reads the message of the started adverbd. If that adverbd could not use the carrier, this process
 * starts no further one. */
static void read_said(struct adv_control_restart *r)
{
	char said[512];
	ssize_t n = r->said >= 0 ? adv_sys_read(r->said, said, sizeof(said) - 1) : -1;

	if (n < 0)
		return;
	adv_control_close_fd(&r->said);
	if (n == 0 || said[0] != ADV_START_FAILED)
		return;
	said[n] = 0;
	adv_warn("the new adverbd cannot continue: %s", said + 1);
	mark_unable(r);
}

bool adv_control_restart_try(struct adv_control_restart *r, uint64_t now)
{
	bool first;

	if (r->carrier < 0)
		return false;
	if (r->due || r->starting)
		return true;
	read_said(r);
	first = may_start(r) && r->lock < 0 && acquire_name(r);
	if (!first && !r->again)
		r->again = now + START_AGAIN_MS;
	if (!first && now < r->again)
		return true;
	if (!may_start(r))
		return false;
	if (now - r->since > STARTS_MS) {
		r->since = now;
		r->started = 0;
	}
	if (r->started >= STARTS_MOST)
		return false;
	r->started++;
	r->again = now + START_AGAIN_MS;
	r->due = true;
	return true;
}

int adv_control_restart_begin(struct adv_control_restart *r)
{
	int carrier;

	if (!r->due)
		return -1;
	r->due = false;
	adv_control_close_fd(&r->said);
	carrier = adv_sys_fcntl(r->carrier, F_DUPFD_CLOEXEC, 0);
	if (carrier < 0) {
		adv_warn("cannot start adverbd: %s", strerror(errno));
		mark_unable(r);
	}
	r->starting = carrier >= 0;
	return carrier;
}

void adv_control_restart_end(struct adv_control_restart *r, int said, const char *why)
{
	r->starting = false;
	if (why) {
		adv_warn("%s", why);
		mark_unable(r);
	} else if (r->carrier < 0) { /* adv_control_restart_close() was called meanwhile */
		adv_control_close_fd(&said);
	} else {
		r->said = said;
	}
}
