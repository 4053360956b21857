/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles: from attributes, or for the sender of a received message. */
#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/neighbour.h"
#include "abi/verbs/kind.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/query.h"

#define FROM_WC		"ibv_init_ah_from_wc()"
#define TO_GROUP	"the message was sent to a group, whose address cannot be a source address"
#define NEXT_HEADER_IBA 0x1b
#define NO_VLAN		0xffff
#define IPV4_IN_GRH	20 /* offset of the IPv4 header in the 40 bytes of a GRH */

/* Counts one more address handle of the context. False if the context already has ADV_MAX_AH. */
static bool count_ah(struct adv_ibv_context *c)
{
	if (atomic_fetch_add(&c->ahs, 1) < ADV_MAX_AH)
		return true;
	atomic_fetch_sub(&c->ahs, 1);
	return false;
}

/* Fills in the path to which the attributes lead. 0 or errno. */
static int find_path(struct ibv_context *context, const struct ibv_ah_attr *attr,
		     struct adv_path *path)
{
	struct adv_device *d = adv_ibv_context_of(context)->device;
	struct adv_next_hop next;
	bool holds = false;
	int err = 0;

	while (!err && !holds) {
		struct adv_engine *e;

		err = adv_device_find_mac(d, attr, &next);
		if (err)
			break;
		e = adv_ibv_enter(context);
		if (!e)
			return ADV_EFOREIGN;
		holds = adv_device_next_hop_holds(d, attr, &next);
		if (holds)
			err = adv_qp_path_from_attr(e, attr, 0, 0, path);
		adv_ibv_leave(context);
	}
	if (!err)
		memcpy(path->dmac, next.mac, sizeof(path->dmac));
	return err;
}

ADV_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static atomic_uint handles;
	struct ibv_ah_attr a = *attr;
	struct adv_gid group = adv_ibv_group_of(&attr->grh.dgid);
	struct adv_ah *ah;
	int err;

	if (!adv_ibv_kind()->datagrams)
		return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, "iWARP has no datagrams"),
					     "ibv_create_ah(pd %u)", pd->handle);
	memcpy(a.grh.dgid.raw, group.raw, 16);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	err = find_path(pd->context, &a, &ah->path);
	if (!err && !count_ah(adv_ibv_context_of(pd->context)))
		err = adv_reason(ENOMEM,
				 "the context has %d address handles (max_ah): destroy some",
				 ADV_MAX_AH);
	if (err) {
		free(ah);
		return adv_ibv_refuse_object(err, "ibv_create_ah(pd %u)", pd->handle);
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->ibv.handle = ++handles;
	ah->pd = adv_ibv_pd_of(pd)->pd;
	adv_ibv_pd_hold(pd);
	adv_ibv_watch_created(ADV_CHECK_AH, &ah->ibv, pd->context, attr);
	adv_debug("ah %u: created, pd %u", ah->ibv.handle, pd->handle);
	return &ah->ibv;
}

static int destroy_ah(struct ibv_ah *ah)
{
	struct ibv_context *context = ah->context;

	adv_ibv_pd_release(ah->pd);
	atomic_fetch_sub(&adv_ibv_context_of(context)->ahs, 1);
	if (adv_ibv_enter_all(context)) {
		adv_ah_destroy((struct adv_ah *)ah);
		adv_ibv_leave_all(context);
	} else {
		free(ah);
	}
	return 0;
}

ADV_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_AH, ah);
	int err = destroy_ah(ah);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

/* True if the 20 bytes at h are an IPv4 header without options and with a valid checksum. */
static bool is_ipv4_header(const uint8_t *h)
{
	uint32_t sum = 0;

	if (h[0] != 0x45)
		return false;
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static bool is_grh(const struct ibv_grh *grh)
{
	return be32toh(grh->version_tclass_flow) >> 28 == 6 && grh->next_hdr == NEXT_HEADER_IBA;
}

static int find_in_table(const struct adv_gid_table *table, const uint8_t gid[16], uint8_t type)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (memcmp(table->entry[i].gid.raw, gid, 16) == 0 && table->entry[i].type == type)
			return (int)i;
	return -1;
}

/* Returns the index of the GID to which the message was sent, or -1 with errno. Messages of this
 * machine arrive as those of RoCE v2, also if the process has GIDs of RoCE v1 only. */
static int find_own_gid(struct ibv_context *context, const uint8_t gid[16], uint8_t type)
{
	struct adv_gid_table *table = adv_ibv_gids_of(context);
	int index = table ? find_in_table(table, gid, type) : -1;

	errno = table ? EINVAL : ENOMEM;
	if (table && index < 0 && type == ADV_GID_ROCE_V2)
		index = find_in_table(table, gid, ADV_GID_ROCE_V1);
	free(table);
	if (index < 0)
		adv_ibv_refuse_minus_one(
			errno == EINVAL
				? adv_reason(EINVAL,
					     "no GID of this machine is the destination in the GRH")
				: errno,
			"%s", FROM_WC);
	return index;
}

static void map_ipv4_gid(uint8_t gid[16], const uint8_t *addr)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, addr, 4);
}

static int attr_from_ipv4(struct ibv_context *context, const uint8_t *ip, struct ibv_ah_attr *attr)
{
	uint8_t own[16];
	int index;

	/* The destination address of a multicast packet cannot be the source address of a response.
	 */
	if ((ip[16] & 0xf0) == 0xe0)
		return adv_ibv_refuse_minus_one(adv_reason(EINVAL, TO_GROUP), "%s", FROM_WC);
	map_ipv4_gid(own, ip + 16);
	index = find_own_gid(context, own, ADV_GID_ROCE_V2);
	if (index < 0)
		return -1;
	map_ipv4_gid(attr->grh.dgid.raw, ip + 12);
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = ip[8];
	attr->grh.traffic_class = ip[1];
	return 0;
}

static int attr_from_ipv6(struct ibv_context *context, const struct ibv_grh *grh,
			  struct ibv_ah_attr *attr)
{
	struct adv_gid dgid;
	int index;

	memcpy(dgid.raw, grh->dgid.raw, sizeof(dgid.raw));
	if (grh->next_hdr != IPPROTO_UDP && grh->next_hdr != NEXT_HEADER_IBA) {
		return adv_ibv_refuse_minus_one(adv_reason(EPROTONOSUPPORT,
							   "next_hdr %u of the GRH is not UDP (17)",
							   grh->next_hdr),
						"%s", FROM_WC);
	}
	if (adv_gid_is_multicast(&dgid)) {
		return adv_ibv_refuse_minus_one(adv_reason(EINVAL, TO_GROUP), "%s", FROM_WC);
	}
	index = find_own_gid(context, grh->dgid.raw,
			     grh->next_hdr == IPPROTO_UDP ? ADV_GID_ROCE_V2 : ADV_GID_ROCE_V1);
	if (index < 0)
		return -1;
	attr->grh.dgid = grh->sgid;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = grh->hop_limit;
	attr->grh.traffic_class = (be32toh(grh->version_tclass_flow) >> 20) & 0xff;
	return 0;
}

ADV_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
				   struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t *ip = (const uint8_t *)grh + IPV4_IN_GRH;

	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	/* The GIDs of a GRH (RoCE v1) may look like an IPv4 header. */
	if (!is_grh(grh) && is_ipv4_header(ip))
		return attr_from_ipv4(context, ip, attr);
	if (be32toh(grh->version_tclass_flow) >> 28 != 6) {
		return adv_ibv_refuse_minus_one(
			adv_reason(EPROTONOSUPPORT,
				   "the 40 bytes of the GRH have no IPv4 or IPv6 header: pass the "
				   "first 40 bytes of the receive buffer"),
			"%s", FROM_WC);
	}
	attr->grh.flow_label = be32toh(grh->version_tclass_flow) & 0xfffff;
	return attr_from_ipv6(context, grh, attr);
}

ADV_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
						struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* Serves provider libraries whose hardware needs the MAC address. By RoCE v2 this device sends by
 * IP address. */
ADV_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					   uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	static const uint8_t none[ETHERNET_LL_SIZE];
	struct adv_next_hop next;
	int err = adv_device_find_mac(adv_ibv_context_of(context)->device, attr, &next);

	if (!err && memcmp(next.mac, none, sizeof(none)) == 0)
		err = adv_reason(EOPNOTSUPP, "packets to this GID are sent by IP address");
	if (err)
		return adv_ibv_refuse_negative(err, "ibv_resolve_eth_l2_from_gid()");
	memcpy(eth_mac, next.mac, sizeof(next.mac));
	if (vid)
		*vid = NO_VLAN;
	return 0;
}
