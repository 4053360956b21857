/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is an NLDEV request of a program, with any bytes. Checks that the answers are complete
 * netlink messages for the requesting port, with correct lengths and complete attributes, and that
 * each list ends. Input: a byte of choices, the number of objects of each kind, the datagram.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "runtime/preload/nldev.h"

#define PORT 4711

static unsigned choices, objects;

static const struct adv_rail_list rails = {.count = 2,
					   .rail = {{.name = "a"}, {.name = "b", .index = 1}}};

static bool read_device(void *user, struct adv_contents *c)
{
	memset(c, 0, sizeof(*c));
	c->machine.count = choices & 1;
	memset(c->machine.entry[0].ifname, 'x', sizeof(c->machine.entry[0].ifname));
	c->rails = &rails;
	c->counted = choices & 2;
	return choices & 4;
}

static int list_objects(void *user, enum adv_resource_kind kind, const char *device,
			adv_resource_fn *fn, void *fn_user)
{
	struct adv_object o;

	FUZZ_CHECK(kind <= ADV_RESOURCE_SUMMARY);
	for (unsigned i = 0; i < objects * objects; i++) {
		memset(&o, (int)(i & 0xff), sizeof(o)); /* a process may report any bytes */
		o.number = i;
		o.type = (uint8_t)i;
		if (i % 3 == 0)
			o.qp.srq = i / 16;
		if (i % 5 == 0)
			memcpy(o.cm_id.local, &(sa_family_t){AF_INET6}, sizeof(sa_family_t));
		if (!fn(fn_user, &o))
			break;
	}
	return choices & 8 ? ECONNRESET : 0;
}

static const struct nlattr *attribute_at(const uint8_t *p, size_t left)
{
	const struct nlattr *a = (const void *)p;

	FUZZ_CHECK(left >= sizeof(*a) && a->nla_len >= NLA_HDRLEN && a->nla_len <= left);
	return a;
}

static bool has_attributes(uint16_t type)
{
	switch (type) {
	case RDMA_NLDEV_ATTR_RES_SUMMARY:
	case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY:
	case RDMA_NLDEV_ATTR_RES_QP:
	case RDMA_NLDEV_ATTR_RES_QP_ENTRY:
	case RDMA_NLDEV_ATTR_RES_CM_ID:
	case RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY:
	case RDMA_NLDEV_ATTR_RES_SRQ:
	case RDMA_NLDEV_ATTR_RES_SRQ_ENTRY:
	case RDMA_NLDEV_ATTR_STAT_HWCOUNTERS:
	case RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY:
		return true;
	default:
		return false;
	}
}

static void check_attributes(const uint8_t *p, size_t len, unsigned depth)
{
	FUZZ_CHECK(depth < 5);
	while (len) {
		const struct nlattr *a = attribute_at(p, len);
		size_t whole = NLA_ALIGN(a->nla_len);

		if (has_attributes(a->nla_type))
			check_attributes(p + NLA_HDRLEN, a->nla_len - (size_t)NLA_HDRLEN,
					 depth + 1);
		FUZZ_CHECK(whole <= len);
		p += whole;
		len -= whole;
	}
}

static void check_answer(const struct adv_netlink *n)
{
	bool listing = false;

	for (size_t at = 0; at < n->len;) {
		const struct nlmsghdr *h = (const void *)(n->data + at);

		FUZZ_CHECK(n->len - at >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) &&
			   h->nlmsg_len <= n->len - at && h->nlmsg_len <= ADV_NLDEV_LONGEST);
		FUZZ_CHECK(h->nlmsg_len % NLMSG_ALIGNTO == 0 && h->nlmsg_pid == PORT);
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			listing = false;
		else
			check_attributes((const uint8_t *)(h + 1), h->nlmsg_len - sizeof(*h), 0);
		if (h->nlmsg_type >= NLMSG_MIN_TYPE)
			listing = h->nlmsg_flags & NLM_F_MULTI;
		at += h->nlmsg_len;
	}
	FUZZ_CHECK(!listing); /* each list ends with NLMSG_DONE or an error */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct adv_nldev_source source = {
		.device = read_device, .resources = list_objects, .keys = size && (data[0] & 16)};
	struct adv_netlink answer = {0};

	if (size < 2 || size > 4096)
		return 0;
	choices = data[0];
	objects = data[1] % 32;
	adv_nldev_answer(&source, data + 2, size - 2, PORT, &answer);
	FUZZ_CHECK(!answer.failed);
	check_answer(&answer);
	free(answer.data);
	return 0;
}
