/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nvme_rdma/control_client.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { REPLY_SECONDS = 30 };

bool adv_nvme_control_address(const char *name, struct sockaddr_un *sa, socklen_t *len)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	if (strlen(name) > ADV_NVME_CONTROL_NAME)
		return false;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, ADV_NVME_CONTROL_PREFIX "%s",
		     name);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return true;
}

bool adv_nvme_control_peer_allowed(int fd, bool root_may)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || (root_may && geteuid() == 0));
}

void adv_nvme_control_limit(int fd, unsigned seconds)
{
	struct timeval limit = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* Sends and receives. False: `why`. */
static bool exchange(int fd, const char *text, char reply[ADV_NVME_CONTROL_REPLY],
		     char why[ADV_NVME_CONTROL_REPLY])
{
	ssize_t n;

	adv_nvme_control_limit(fd, REPLY_SECONDS);
	/* With a time limit, these calls end with EINTR even if the process only was stopped. */
	n = TEMP_FAILURE_RETRY(send(fd, text, strlen(text), MSG_NOSIGNAL));
	if (n >= 0)
		n = TEMP_FAILURE_RETRY(recv(fd, reply, ADV_NVME_CONTROL_REPLY - 1, 0));
	if (n > 0) {
		reply[n] = 0;
		return true;
	}
	snprintf(why, ADV_NVME_CONTROL_REPLY, "the target does not reply%s%s", n < 0 ? ": " : "",
		 n < 0 ? strerror(errno) : "");
	return false;
}

int adv_nvme_control_connect(const char *name, char why[ADV_NVME_CONTROL_REPLY])
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa;
	socklen_t len;

	if (fd < 0 || !adv_nvme_control_address(name, &sa, &len) ||
	    connect(fd, (struct sockaddr *)&sa, len) != 0)
		snprintf(why, ADV_NVME_CONTROL_REPLY,
			 "no target with the control name '%.64s' runs in this network namespace",
			 name);
	else if (!adv_nvme_control_peer_allowed(fd, true))
		snprintf(why, ADV_NVME_CONTROL_REPLY, "the target belongs to another user");
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

bool adv_nvme_control_request(const char *name, const char *text, uint32_t *nsid,
			      char why[ADV_NVME_CONTROL_REPLY])
{
	char reply[ADV_NVME_CONTROL_REPLY];
	int fd = adv_nvme_control_connect(name, why);
	bool ok = fd >= 0 && exchange(fd, text, reply, why);

	if (fd >= 0)
		close(fd);
	if (ok && sscanf(reply, "ok %u", nsid) != 1) {
		snprintf(why, ADV_NVME_CONTROL_REPLY, "%s", reply);
		ok = false;
	}
	return ok;
}
