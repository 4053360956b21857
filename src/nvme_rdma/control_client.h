/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The client's end of a target's control socket (control.h). It needs no header of verbs. */
#ifndef ADV_NVME_RDMA_CONTROL_CLIENT_H
#define ADV_NVME_RDMA_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADV_NVME_CONTROL_MESSAGE 8192u
#define ADV_NVME_CONTROL_REPLY	 640u
#define ADV_NVME_CONTROL_NAME	 64u /* most characters of a name */
#define ADV_NVME_CONTROL_PREFIX	 "adverb-nvme/"
#define ADV_NVME_CONTROL_STAT	 "stat\n"

/* Sets the abstract address of a control name. False: the name is too long. */
bool adv_nvme_control_address(const char *name, struct sockaddr_un *sa, socklen_t *len);
/* True if the peer is of the same user, or root; root_may: or this process is root's. */
bool adv_nvme_control_peer_allowed(int fd, bool root_may);
/* Bounds the time that a target has to reply. */
void adv_nvme_control_limit(int fd, unsigned seconds);

/* Connects to the target with this name. Returns a descriptor; -1: `why`. */
int adv_nvme_control_connect(const char *name, char why[ADV_NVME_CONTROL_REPLY]);
/* Sends a request to the target with this name. Returns true and the nsid; false: `why`. */
bool adv_nvme_control_request(const char *name, const char *text, uint32_t *nsid,
			      char why[ADV_NVME_CONTROL_REPLY]);

#endif
