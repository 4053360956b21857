/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/control_client.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { REPLY_SECONDS = 30 };

const struct adv_kit_control_kind adv_kit_control_target = {"adverb-nvme/", "target"};
const struct adv_kit_control_kind adv_kit_control_gateway = {"adverb-gateway/", "gateway"};

/* Sets the abstract address of a control name. False: the name is too long. */
static bool set_address(const struct adv_kit_control_kind *kind, const char *name,
			struct sockaddr_un *sa, socklen_t *len)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (strlen(name) > ADV_KIT_CONTROL_NAME)
		return false;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "%s%s", kind->prefix, name);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return true;
}

int adv_kit_control_listen(const struct adv_kit_control_kind *kind, const char *name,
			   unsigned clients, char why[ADV_KIT_CONTROL_REPLY])
{
	struct sockaddr_un sa;
	socklen_t len;
	int fd;

	if (!set_address(kind, name, &sa, &len)) {
		snprintf(why, ADV_KIT_CONTROL_REPLY, "its name has more than %u characters",
			 ADV_KIT_CONTROL_NAME);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&sa, len) == 0 && listen(fd, (int)clients) == 0)
		return fd;
	if (errno == EADDRINUSE)
		snprintf(why, ADV_KIT_CONTROL_REPLY,
			 "another %s has the same name (--control NAME)", kind->noun);
	else
		snprintf(why, ADV_KIT_CONTROL_REPLY, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool adv_kit_control_peer_allowed(int fd, bool root_may)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || (root_may && geteuid() == 0));
}

void adv_kit_control_limit(int fd, unsigned seconds)
{
	struct timeval limit = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* Sends and receives. False: `why`. */
static bool exchange_message(int fd, const char *text, char reply[ADV_KIT_CONTROL_REPLY],
			     char why[ADV_KIT_CONTROL_REPLY])
{
	ssize_t n;

	adv_kit_control_limit(fd, REPLY_SECONDS);
	/* With a time limit, these calls end with EINTR even if the process only was stopped. */
	n = TEMP_FAILURE_RETRY(send(fd, text, strlen(text), MSG_NOSIGNAL));
	if (n >= 0)
		n = TEMP_FAILURE_RETRY(recv(fd, reply, ADV_KIT_CONTROL_REPLY - 1, 0));
	if (n > 0) {
		reply[n] = 0;
		return true;
	}
	snprintf(why, ADV_KIT_CONTROL_REPLY, "the target does not reply%s%s", n < 0 ? ": " : "",
		 n < 0 ? strerror(errno) : "");
	return false;
}

int adv_kit_control_connect(const struct adv_kit_control_kind *kind, const char *name,
			    char why[ADV_KIT_CONTROL_REPLY])
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa;
	socklen_t len;

	if (fd < 0 || !set_address(kind, name, &sa, &len) ||
	    connect(fd, (struct sockaddr *)&sa, len) != 0)
		snprintf(why, ADV_KIT_CONTROL_REPLY,
			 "no %s with the control name '%.64s' runs in this network namespace",
			 kind->noun, name);
	else if (!adv_kit_control_peer_allowed(fd, true))
		snprintf(why, ADV_KIT_CONTROL_REPLY, "the %s belongs to another user", kind->noun);
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool adv_kit_control_request(const char *name, const char *text, uint32_t *nsid,
			     char why[ADV_KIT_CONTROL_REPLY])
{
	char reply[ADV_KIT_CONTROL_REPLY];
	int fd = adv_kit_control_connect(&adv_kit_control_target, name, why);
	bool ok = fd >= 0 && exchange_message(fd, text, reply, why);

	if (fd >= 0)
		close(fd);
	if (ok && sscanf(reply, "ok %u", nsid) != 1) {
		snprintf(why, ADV_KIT_CONTROL_REPLY, "%s", reply);
		ok = false;
	}
	return ok;
}

static bool is_known(char names[ADV_KIT_CONTROL_NAMES][ADV_KIT_CONTROL_NAME + 1], size_t count,
		     const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

size_t adv_kit_control_names(const struct adv_kit_control_kind *kind,
			     char names[ADV_KIT_CONTROL_NAMES][ADV_KIT_CONTROL_NAME + 1])
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[256], prefix[32], *name;
	size_t count = 0;

	snprintf(prefix, sizeof(prefix), " @%s", kind->prefix);
	/* Accepted connections have the name, too. */
	while (f && count < ADV_KIT_CONTROL_NAMES && fgets(line, sizeof(line), f)) {
		name = strstr(line, prefix);
		if (!name)
			continue;
		name += strlen(prefix);
		name[strcspn(name, "\n")] = 0;
		if (strlen(name) <= ADV_KIT_CONTROL_NAME && !is_known(names, count, name))
			strcpy(names[count++], name);
	}
	if (f)
		fclose(f);
	return count;
}
