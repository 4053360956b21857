/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/control_revive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/sys.h"
#include "host/control.h"

#define PATIENCE_MS 3000 /* then another one is started: the first may have been stopped */
#define STARTS_MAX  4	 /* in ... */
#define STARTS_MS   60000

static void close_fd(int *fd)
{
	if (*fd >= 0)
		adv_sys_close(*fd);
	*fd = -1;
}

void adv_revival_init(struct adv_revival *r)
{
	*r = (struct adv_revival){.estate = -1, .lock = -1, .said = -1};
}

void adv_revival_keep(struct adv_revival *r, int estate)
{
	close_fd(&r->estate);
	r->estate = estate;
	if (!r->heir)
		r->heir = adv_control_heir_new();
	r->uid = geteuid();
	r->seccomp = prctl(PR_GET_SECCOMP);
}

void adv_revival_close(struct adv_revival *r)
{
	close_fd(&r->estate);
	close_fd(&r->lock);
	close_fd(&r->said);
}

void adv_revival_free(struct adv_revival *r)
{
	adv_control_heir_free(r->heir);
	r->heir = NULL;
}

void adv_revival_done(struct adv_revival *r)
{
	close_fd(&r->lock);
	close_fd(&r->said);
	r->again = 0;
}

/* Another user's daemon would not be ours, and who has locked himself up since then may be killed
 * for starting a program. */
static bool may_start(const struct adv_revival *r)
{
	return r->heir && !r->unable && geteuid() == r->uid && prctl(PR_GET_SECCOMP) == r->seccomp;
}

/* True where nobody else is starting one. */
static bool take_lock(struct adv_revival *r)
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
	close_fd(&r->lock);
	return false;
}

/* What the daemon that we started has said: that it cannot go on is for good. */
static void hear(struct adv_revival *r)
{
	char said[512];
	ssize_t n = r->said >= 0 ? adv_sys_read(r->said, said, sizeof(said) - 1) : -1;

	if (n < 0)
		return;
	close_fd(&r->said);
	if (n == 0 || said[0] != ADV_START_FAILED)
		return;
	said[n] = 0;
	adv_warn("the new adverbd cannot continue: %s", said + 1);
	r->unable = true;
	r->again = 0;
	close_fd(&r->lock);
}

static void start(struct adv_revival *r)
{
	char why[256];

	close_fd(&r->said);
	if (adv_control_heir_start(r->heir, r->estate, &r->said, why, sizeof(why)) == 0)
		return;
	adv_warn("%s", why);
	r->unable = true;
	close_fd(&r->lock);
}

bool adv_revival_try(struct adv_revival *r, uint64_t now)
{
	bool first;

	if (r->estate < 0)
		return false;
	hear(r);
	first = may_start(r) && r->lock < 0 && take_lock(r);
	if (!first && !r->again)
		r->again = now + PATIENCE_MS;
	if (!first && now < r->again)
		return true;
	if (!may_start(r))
		return false;
	if (now - r->since > STARTS_MS) {
		r->since = now;
		r->started = 0;
	}
	if (r->started >= STARTS_MAX)
		return false;
	r->started++;
	r->again = now + PATIENCE_MS;
	start(r);
	return true;
}
