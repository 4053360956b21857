/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/netlink_writer.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096

static bool reserve_bytes(struct adv_netlink *n, size_t len)
{
	size_t room = n->room ? n->room : FIRST_ROOM;
	uint8_t *data;

	if (n->failed || len > ADV_NETLINK_MOST - n->len)
		n->failed = true;
	if (n->failed || n->len + len <= n->room)
		return !n->failed;
	while (room < n->len + len)
		room *= 2;
	data = realloc(n->data, room);
	if (!data) {
		n->failed = true;
		return false;
	}
	n->data = data;
	n->room = room;
	return true;
}

static void append_bytes(struct adv_netlink *n, const void *data, size_t len)
{
	size_t whole = NLA_ALIGN(len);

	if (!reserve_bytes(n, whole))
		return;
	if (len)
		memcpy(n->data + n->len, data, len);
	memset(n->data + n->len + len, 0, whole - len);
	n->len += whole;
}

void adv_netlink_begin(struct adv_netlink *n, uint16_t type, uint16_t flags, uint32_t serial,
		       uint32_t port)
{
	const struct nlmsghdr head = {
		.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = serial, .nlmsg_pid = port};

	n->message = n->len;
	append_bytes(n, &head, sizeof(head));
}

size_t adv_netlink_length(const struct adv_netlink *n)
{
	return n->len - n->message;
}

void adv_netlink_end(struct adv_netlink *n)
{
	uint32_t len = (uint32_t)adv_netlink_length(n);

	if (!n->failed)
		memcpy(n->data + n->message + offsetof(struct nlmsghdr, nlmsg_len), &len,
		       sizeof(len));
}

void adv_netlink_raw(struct adv_netlink *n, const void *data, size_t len)
{
	append_bytes(n, data, len);
}

void adv_netlink_put(struct adv_netlink *n, uint16_t type, const void *data, size_t len)
{
	const struct nlattr head = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

	append_bytes(n, &head, sizeof(head));
	append_bytes(n, data, len);
}

void adv_netlink_u8(struct adv_netlink *n, uint16_t type, uint8_t value)
{
	adv_netlink_put(n, type, &value, sizeof(value));
}

void adv_netlink_u32(struct adv_netlink *n, uint16_t type, uint32_t value)
{
	adv_netlink_put(n, type, &value, sizeof(value));
}

void adv_netlink_u64(struct adv_netlink *n, uint16_t type, uint64_t value)
{
	adv_netlink_put(n, type, &value, sizeof(value));
}

void adv_netlink_string(struct adv_netlink *n, uint16_t type, const char *value)
{
	adv_netlink_put(n, type, value, strlen(value) + 1);
}

size_t adv_netlink_nest(struct adv_netlink *n, uint16_t type)
{
	size_t at = n->len;

	adv_netlink_put(n, type, NULL, 0);
	return at;
}

void adv_netlink_nest_end(struct adv_netlink *n, size_t nest)
{
	uint16_t len = (uint16_t)(n->len - nest);

	if (!n->failed)
		memcpy(n->data + nest + offsetof(struct nlattr, nla_len), &len, sizeof(len));
}
