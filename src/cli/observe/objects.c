/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/observe/objects.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "base/array.h"
#include "base/grow.h"
#include "runtime/exchange/resources.h"

/* ---- reading ---- */

static bool keep_object(void *user, const struct adv_object *object)
{
	struct adv_objects *o = user;

	if (!adv_grow(&o->list, o->count, &o->room, sizeof(*object)))
		return false;
	o->list[o->count++] = *object;
	return true;
}

static void keep_silent(void *user, uint32_t pid, int error)
{
	struct adv_objects *o = user;

	/* With another error the process has ended since. */
	if ((error == ETIMEDOUT || error == EAGAIN) &&
	    adv_grow_to(&o->silent, o->silent_count + 1, sizeof(pid)))
		o->silent[o->silent_count++] = pid;
}

bool adv_objects_read(struct adv_objects *o, struct adv_control *c, enum adv_resource_kind kind,
		      uint32_t pid)
{
	const struct adv_resource_query query = {
		.kind = kind, .pid = pid, .fn = keep_object, .silent = keep_silent, .user = o};
	int error;

	memset(o, 0, sizeof(*o));
	error = adv_resources_each(c, &query);
	if (error)
		fprintf(stderr, "adverb: cannot read the objects: %s\n",
			error == ECONNRESET ? "adverbd closed the connection" : strerror(error));
	return !error;
}

void adv_objects_free(struct adv_objects *o)
{
	free(o->list);
	free(o->silent);
	memset(o, 0, sizeof(*o));
}

/* ---- processes ---- */

static ssize_t read_proc(uint32_t pid, const char *name, char *text, size_t room)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, room - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

void adv_object_command(uint32_t pid, char text[ADV_COMMAND_TEXT])
{
	if (!pid || read_proc(pid, "comm", text, ADV_COMMAND_TEXT) <= 0)
		strcpy(text, "-");
	text[strcspn(text, "\n")] = 0;
}

char adv_object_process_state(uint32_t pid)
{
	char text[512];
	const char *end;

	if (!pid || read_proc(pid, "stat", text, sizeof(text)) <= 0)
		return 0;
	end = strrchr(text, ')'); /* the name may have parentheses and spaces */
	return end && end[1] == ' ' ? end[2] : '\0';
}

/* ---- texts ---- */

static const char *const kinds[ADV_RESOURCE_KINDS] = {
	[ADV_RESOURCE_QP] = "qp",	[ADV_RESOURCE_CQ] = "cq",   [ADV_RESOURCE_MR] = "mr",
	[ADV_RESOURCE_PD] = "pd",	[ADV_RESOURCE_SRQ] = "srq", [ADV_RESOURCE_CTX] = "ctx",
	[ADV_RESOURCE_CM_ID] = "cm_id",
};

const char *adv_object_kind_name(enum adv_resource_kind kind)
{
	return kinds[kind];
}

enum adv_resource_kind adv_object_kind(const char *name)
{
	unsigned i = 0;

	while (i < ADV_RESOURCE_KINDS && strcmp(kinds[i], name) != 0)
		i++;
	return (enum adv_resource_kind)i;
}

bool adv_object_has_peer(const struct adv_object *qp)
{
	static const uint8_t none[16];

	return qp->type != IBV_QPT_UD && memcmp(qp->qp.dgid, none, sizeof(none)) != 0;
}

const char *adv_object_cm_state(uint8_t state)
{
	/* In the order of enum rdma_cm_state in include/rdma/rdma_cm.h of the kernel. */
	static const char *const names[] = {
		"IDLE",	   "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY", "ROUTE_RESOLVED",
		"CONNECT", "DISCONNECT", "ADDR_BOUND",	  "LISTEN",
	};

	return state < ADV_ARRAY_SIZE(names) ? names[state] : "unknown";
}

const char *adv_object_port_space(uint32_t port_space)
{
	switch (port_space) {
	case RDMA_PS_IPOIB:
		return "IPoIB";
	case RDMA_PS_TCP:
		return "TCP";
	case RDMA_PS_UDP:
		return "UDP";
	case RDMA_PS_IB:
		return "IB";
	default:
		return "unknown";
	}
}

bool adv_object_is_at(const uint8_t address[ADV_RESOURCE_SOCKADDR], const uint8_t gid[16],
		      uint16_t port)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;
	uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(&six, address, sizeof(six));
	memcpy(&four, address, sizeof(four));
	memcpy(mapped + 12, &four.sin_addr, sizeof(four.sin_addr));
	if (four.sin_family == AF_INET)
		return ntohs(four.sin_port) == port && memcmp(mapped, gid, sizeof(mapped)) == 0;
	return six.sin6_family == AF_INET6 && ntohs(six.sin6_port) == port &&
	       memcmp(&six.sin6_addr, gid, 16) == 0;
}

void adv_object_sockaddr(const uint8_t address[ADV_RESOURCE_SOCKADDR], char text[ADV_SOCKADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN];
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	_Static_assert(sizeof(six) == ADV_RESOURCE_SOCKADDR, "the longest address");
	memcpy(&six, address, sizeof(six));
	memcpy(&four, address, sizeof(four));
	if (four.sin_family == AF_INET && inet_ntop(AF_INET, &four.sin_addr, host, sizeof(host)))
		snprintf(text, ADV_SOCKADDR_TEXT, "%s:%u", host, ntohs(four.sin_port));
	else if (six.sin6_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof(host)))
		snprintf(text, ADV_SOCKADDR_TEXT, "[%s]:%u", host, ntohs(six.sin6_port));
	else
		strcpy(text, "-");
}
