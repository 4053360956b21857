/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of the device, its port, and its tables of GIDs and P_Keys. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs_api.h>

#include "runtime/control/protocol.h"
#include "runtime/identity/identity.h"
#include "abi/verbs/kind.h"
#include "abi/verbs/objects.h"
#include "abi/verbs/query.h"

#undef ibv_query_port

/* Flags of device_cap_flags_ex with the kernel's values; the headers have no names for them. */
#define CAP_FLUSH_GLOBAL     (1ull << 38)
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE     (1ull << 40)

static const struct ibv_device_attr device_attr = {
	.fw_ver = ADV_FW_VER,
	.max_mr_size = UINT64_MAX,
	.page_size_cap = 0xfffff000,
	.vendor_id = ADV_VENDOR_ID,
	.vendor_part_id = ADV_VENDOR_PART_ID,
	.hw_ver = ADV_HW_VER,
	.max_qp = ADV_DEVICE_BLOCKS << ADV_BLOCK_QPN_BITS,
	.max_qp_wr = ADV_MAX_QP_WR,
	.device_cap_flags = ADV_DEVICE_CAP_FLAGS,
	.max_sge = ADV_MAX_SGE,
	.max_sge_rd = ADV_MAX_SGE,
	.max_cq = ADV_MAX_CQ,
	.max_cqe = ADV_MAX_CQE,
	.max_mr = ADV_MAX_MR,
	.max_mw = ADV_MAX_MR,
	.max_pd = ADV_MAX_PD,
	.max_qp_rd_atom = ADV_MAX_RD_ATOMIC,
	.max_res_rd_atom = ADV_MAX_RD_ATOMIC * (ADV_DEVICE_BLOCKS << ADV_BLOCK_QPN_BITS),
	.max_qp_init_rd_atom = ADV_MAX_RD_ATOMIC,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_mcast_grp = ADV_SLOT_GROUPS,
	.max_mcast_qp_attach = ADV_MAX_MCAST_QP,
	.max_total_mcast_qp_attach = ADV_SLOT_GROUPS * ADV_MAX_MCAST_QP,
	.max_ah = ADV_MAX_AH,
	.max_srq = ADV_MAX_SRQ,
	.max_srq_wr = ADV_MAX_SRQ_WR,
	.max_srq_sge = ADV_MAX_SGE,
	.local_ca_ack_delay = 15,
	.phys_port_cnt = 1,
};

struct adv_gid_table *adv_ibv_gids_of(struct ibv_context *context)
{
	struct adv_gid_table *table = malloc(sizeof(*table));

	if (!table)
		return NULL;
	adv_device_gids(adv_ibv_context_of(context)->device, table);
	adv_ibv_kind()->limit_gids(table);
	return table;
}

static void watch_query(enum adv_check_query query)
{
	if (adv_ibv_observer)
		adv_ibv_observer->queried(query);
}

int adv_ibv_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t attr_size)
{
	/* Flags of headers that are newer than some supported ones. */
	const uint32_t odp_flush = 1 << 6, odp_atomic_write = 1 << 7;
	const uint32_t odp = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	struct ibv_device_attr_ex full = {.orig_attr = device_attr};
	struct adv_pkey_table pkeys;

	watch_query(ADV_CHECK_QUERY_DEVICE);
	if (input && input->comp_mask)
		return adv_ibv_refuse(adv_reason(EINVAL,
						 "comp_mask 0x%x of the input: no bit is defined",
						 input->comp_mask),
				      "ibv_query_device_ex()");
	full.orig_attr.node_guid = ibv_get_device_guid(context->device);
	full.orig_attr.sys_image_guid = full.orig_attr.node_guid;
	adv_device_pkeys(adv_ibv_context_of(context)->device, &pkeys);
	full.orig_attr.max_pkeys = (uint16_t)pkeys.count;
	full.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	full.odp_caps.per_transport_caps.rc_odp_caps =
		odp | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
		IBV_ODP_SUPPORT_SRQ_RECV | odp_flush | odp_atomic_write;
	full.odp_caps.per_transport_caps.uc_odp_caps = odp | IBV_ODP_SUPPORT_WRITE;
	full.odp_caps.per_transport_caps.ud_odp_caps = odp;
	full.xrc_odp_caps = full.odp_caps.per_transport_caps.rc_odp_caps;
	full.completion_timestamp_mask = UINT64_MAX;
	full.hca_core_clock = 1000000; /* kHz: timestamps are nanoseconds */
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags | CAP_FLUSH_GLOBAL |
				   CAP_FLUSH_PERSISTENT | CAP_ATOMIC_WRITE;
	full.max_dm_size = ADV_MAX_DM;
	full.cq_mod_caps.max_cq_count = UINT16_MAX;
	full.cq_mod_caps.max_cq_period = UINT16_MAX;
	full.pci_atomic_caps.fetch_add = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
	full.pci_atomic_caps.compare_swap = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP;
	full.phys_port_cnt_ex = 1;
	adv_ibv_kind()->limit_device(&full);
	if (attr_size > sizeof(full)) {
		memset((char *)attr + sizeof(full), 0, attr_size - sizeof(full));
		attr_size = sizeof(full);
	}
	memcpy(attr, &full, attr_size);
	return 0;
}

ADV_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct ibv_device_attr_ex full;
	int err = adv_ibv_query_device_ex(context, NULL, &full, sizeof(full));

	if (!err)
		*attr = full.orig_attr;
	return err;
}

int adv_ibv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;

	values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
	if (values->comp_mask) {
		/* The time in units of hca_core_clock, all of it in tv_nsec, as in mlx5. */
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec =
			(long)adv_device_time(adv_ibv_context_of(context)->device);
	}
	if (!(asked & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK))
		return 0;
	return adv_ibv_refuse(
		adv_reason(EINVAL, "comp_mask 0x%x: only IBV_VALUES_MASK_RAW_CLOCK (1) is defined",
			   asked),
		"ibv_query_rt_values_ex()");
}

static enum ibv_mtu mtu_enum(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 256u << mtu <= bytes)
		mtu++;
	return mtu;
}

_Static_assert(ADV_PORT_CAP_FLAGS == (IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS), "PortInfo");

static void fill_port(const struct adv_gid_table *table, struct ibv_port_attr *attr)
{
	attr->state = table->port_active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->phys_state = table->port_active ? ADV_PHYS_LINK_UP : ADV_PHYS_DISABLED;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = mtu_enum(table->active_mtu);
	attr->gid_tbl_len = (int)table->count;
	attr->port_cap_flags = ADV_PORT_CAP_FLAGS;
	attr->max_msg_sz = ADV_MAX_MSG;
	attr->pkey_tbl_len = (uint16_t)table->pkeys.count;
	attr->max_vl_num = 1;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	attr->flags = IBV_QPF_GRH_REQUIRED;
	adv_identity_speed(table->count > 0 ? table->entry[0].speed_mbps : 0, &attr->active_width,
			   &attr->active_speed);
}

/* Counts the packets with a wrong P_Key or Q_Key that queue pairs of the device have dropped. 0 in
 * a child of fork(). */
static void fill_violations(struct adv_device *device, struct ibv_port_attr *attr)
{
	const struct adv_engine_counters *c;
	struct adv_device *shard;

	if (adv_device_is_foreign(device))
		return;
	for (unsigned i = 0; (shard = adv_device_shard(device, i)); i++) {
		c = adv_engine_counters(adv_device_lock(shard));
		attr->bad_pkey_cntr += (uint32_t)c->rx_bad_pkey;
		attr->qkey_viol_cntr += (uint32_t)c->rx_bad_qkey;
		adv_device_unlock(shard);
	}
}

int adv_ibv_gids_of_port(struct ibv_context *context, uint32_t port_num, const char *call,
			 struct adv_gid_table **table)
{
	if (port_num != 1)
		return adv_ibv_refuse(
			adv_reason(EINVAL, "port_num %u: the device has only port 1", port_num),
			"%s()", call);
	*table = adv_ibv_gids_of(context);
	return *table ? 0 : adv_ibv_refuse(ENOMEM, "%s()", call);
}

int adv_ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t attr_size)
{
	struct ibv_port_attr full = {0};
	struct adv_gid_table *table;
	int err = adv_ibv_gids_of_port(context, port_num, "ibv_query_port", &table);

	watch_query(ADV_CHECK_QUERY_PORT);
	if (err)
		return err;
	fill_port(table, &full);
	fill_violations(adv_ibv_context_of(context)->device, &full);
	adv_ibv_kind()->limit_port(&full);
	free(table);
	if (attr_size > sizeof(full)) {
		memset((char *)attr + sizeof(full), 0, attr_size - sizeof(full));
		attr_size = sizeof(full);
	}
	memcpy(attr, &full, attr_size);
	return 0;
}

/* Serves programs that call this function instead of the context's operation. They know the
 * structure up to the member `flags`. */
ADV_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			      struct _compat_ibv_port_attr *attr)
{
	_Static_assert(offsetof(struct ibv_port_attr, port_cap_flags2) <= 48, "the old structure");
	return adv_ibv_query_port(context, port_num, (struct ibv_port_attr *)(void *)attr, 48);
}

static void fill_gid_entry(struct ibv_gid_entry *out, const struct adv_gid_entry *in,
			   uint32_t index)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->gid.raw, in->gid.raw, 16);
	out->gid_index = index;
	out->port_num = 1;
	out->gid_type = in->type == ADV_GID_ROCE_V1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	out->ndev_ifindex = in->ifindex;
}

/* Copies an entry to the caller's entry, whose size may be that of an older or a newer header. */
static void copy_gid_entry(void *out, const struct ibv_gid_entry *entry, size_t entry_size)
{
	if (entry_size > sizeof(*entry)) {
		memset((char *)out + sizeof(*entry), 0, entry_size - sizeof(*entry));
		entry_size = sizeof(*entry);
	}
	memcpy(out, entry, entry_size);
}

ADV_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t index,
				 struct ibv_gid_entry *out, uint32_t flags, size_t entry_size)
{
	struct adv_gid_table *table;
	struct ibv_gid_entry entry;
	int err;

	if (flags)
		return adv_ibv_refuse(adv_reason(EOPNOTSUPP, "flags 0x%x: none is defined", flags),
				      "ibv_query_gid_ex()");
	watch_query(ADV_CHECK_QUERY_GID);
	err = adv_ibv_gids_of_port(context, port_num, "ibv_query_gid_ex", &table);
	if (err)
		return err;
	if (index < table->count) {
		fill_gid_entry(&entry, &table->entry[index], index);
		copy_gid_entry(out, &entry, entry_size);
	} else {
		err = adv_reason(
			EINVAL,
			"index %u: the GID table has %u entries (adverb devinfo lists them)", index,
			table->count);
	}
	free(table);
	return err ? adv_ibv_refuse(err, "ibv_query_gid_ex()") : 0;
}

ADV_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
					size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct adv_gid_table *table;
	struct ibv_gid_entry entry;
	ssize_t n;

	if (flags)
		return adv_ibv_refuse_negative(
			adv_reason(EOPNOTSUPP, "flags 0x%x: none is defined", flags),
			"ibv_query_gid_table()");
	watch_query(ADV_CHECK_QUERY_GID);
	table = adv_ibv_gids_of(context);
	if (!table)
		return adv_ibv_refuse_negative(ENOMEM, "ibv_query_gid_table()");
	if (table->count > max_entries) {
		int err = adv_reason(EINVAL, "max_entries %zu: the GID table has %u entries",
				     max_entries, table->count);

		free(table);
		return adv_ibv_refuse_negative(err, "ibv_query_gid_table()");
	}
	for (n = 0; n < (ssize_t)table->count; n++) {
		fill_gid_entry(&entry, &table->entry[n], (uint32_t)n);
		copy_gid_entry((char *)entries + (size_t)n * entry_size, &entry, entry_size);
	}
	free(table);
	return n;
}

ADV_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			     union ibv_gid *gid)
{
	struct ibv_gid_entry entry;

	if (index < 0)
		return adv_ibv_refuse_minus_one(adv_reason(EINVAL, "index %d is negative", index),
						"ibv_query_gid()");
	if (_ibv_query_gid_ex(context, port_num, (uint32_t)index, &entry, 0, sizeof(entry)))
		return -1;
	*gid = entry.gid;
	return 0;
}

ADV_EXPORT int adv_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
				      unsigned int index, int *type);

/* ibv_query_gid_type() of the private nodes. *type: 0 is InfiniBand or RoCE v1, 1 is RoCE v2. */
int adv_ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			   int *type)
{
	struct ibv_gid_entry entry;

	if (_ibv_query_gid_ex(context, port_num, index, &entry, 0, sizeof(entry)))
		return -1;
	*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}
ADV_EXPORT_DEFAULT(adv_ibv_query_gid_type, ibv_query_gid_type, "IBVERBS_PRIVATE_34");
ADV_EXPORT_OLD(adv_ibv_query_gid_type, ibv_query_gid_type, "IBVERBS_PRIVATE_57");
ADV_EXPORT_OLD(adv_ibv_query_gid_type, ibv_query_gid_type, "IBVERBS_PRIVATE_59");
ADV_EXPORT_OLD(adv_ibv_query_gid_type, ibv_query_gid_type, "IBVERBS_PRIVATE_64");
ADV_EXPORT_OLD(adv_ibv_query_gid_type, ibv_query_gid_type, "IBVERBS_PRIVATE_65");

ADV_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
			      __be16 *pkey)
{
	struct adv_pkey_table table;

	adv_device_pkeys(adv_ibv_context_of(context)->device, &table);
	if (port_num != 1 || index < 0 || (uint32_t)index >= table.count)
		return adv_ibv_refuse_minus_one(
			adv_reason(EINVAL,
				   "port_num %u, index %d: the device has port 1, with a P_Key "
				   "table of length %u",
				   port_num, index, table.count),
			"ibv_query_pkey()");
	*pkey = htobe16(table.pkey[index]);
	return 0;
}

ADV_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	struct adv_pkey_table table;
	int index;

	adv_device_pkeys(adv_ibv_context_of(context)->device, &table);
	index = adv_pkey_index(&table, be16toh(pkey));
	if (port_num != 1 || index < 0)
		return adv_ibv_refuse_minus_one(
			adv_reason(EINVAL,
				   "port_num %u, pkey 0x%04x: the device has port 1, whose P_Key "
				   "table has no such entry (ibv_query_pkey() lists it)",
				   port_num, be16toh(pkey)),
			"ibv_get_pkey_index()");
	return index;
}
