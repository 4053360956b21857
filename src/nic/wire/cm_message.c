/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/cm_message.h"

#include <string.h>

#include "base/layout.h"

/* A row is: first byte, bits below, bits, member. The numbers are sections of the specification. */
#define INTO(member) ADV_FIELD_INTO(struct adv_cm_packet, member)

#define PATH(member) ADV_FIELD_INTO(struct adv_cm_path, member)

static const struct adv_field req_path_fields[] = {
	{0, 0, 16, PATH(local_lid)},
	{2, 0, 16, PATH(remote_lid)},
	{4, 0, 0, PATH(local_gid)},
	{20, 0, 0, PATH(remote_gid)},
	{36, 12, 20, PATH(flow_label)},
	{39, 0, 6, PATH(packet_rate)},
	{40, 0, 8, PATH(traffic_class)},
	{41, 0, 8, PATH(hop_limit)},
	{42, 4, 4, PATH(sl)},
	{42, 3, 1, PATH(subnet_local)},
	{43, 3, 5, PATH(local_ack_timeout)},
};

static const struct adv_layout req_path = ADV_LAYOUT_BE(req_path_fields);

static const struct adv_field lap_path_fields[] = {
	{0, 0, 16, PATH(local_lid)},
	{2, 0, 16, PATH(remote_lid)},
	{4, 0, 0, PATH(local_gid)},
	{20, 0, 0, PATH(remote_gid)},
	{36, 12, 20, PATH(flow_label)},
	{39, 0, 8, PATH(traffic_class)},
	{40, 0, 8, PATH(hop_limit)},
	{41, 0, 6, PATH(packet_rate)},
	{42, 4, 4, PATH(sl)},
	{42, 3, 1, PATH(subnet_local)},
	{43, 3, 5, PATH(local_ack_timeout)},
};

static const struct adv_layout lap_path = ADV_LAYOUT_BE(lap_path_fields);

/* 12.6.5 */
static const struct adv_field req[] = {
	{0, 0, 32, INTO(req.local_comm_id)},
	{5, 0, 24, INTO(req.ece_vendor)},
	{8, 0, 64, INTO(req.service_id)},
	{16, 0, 64, INTO(req.local_ca_guid)},
	{28, 0, 32, INTO(req.local_qkey)},
	{32, 0, 24, INTO(req.local_qpn)},
	{35, 0, 8, INTO(req.responder_resources)},
	{36, 0, 24, INTO(req.local_eecn)},
	{39, 0, 8, INTO(req.initiator_depth)},
	{40, 0, 24, INTO(req.remote_eecn)},
	{43, 3, 5, INTO(req.remote_response_timeout)},
	{43, 1, 2, INTO(req.transport)},
	{43, 0, 1, INTO(req.flow_control)},
	{44, 0, 24, INTO(req.starting_psn)},
	{47, 3, 5, INTO(req.local_response_timeout)},
	{47, 0, 3, INTO(req.retry_count)},
	{48, 0, 16, INTO(req.pkey)},
	{50, 4, 4, INTO(req.path_mtu)},
	{50, 3, 1, INTO(req.rdc_exists)},
	{50, 0, 3, INTO(req.rnr_retry_count)},
	{51, 4, 4, INTO(req.max_cm_retries)},
	{51, 3, 1, INTO(req.srq)},
	{51, 0, 3, INTO(req.extended_transport)},
	{52, 0, 0, INTO(req.primary), .of = &req_path},
	{96, 0, 0, INTO(req.alternate), .of = &req_path},
	{139, 2, 1, INTO(req.sap_supported)},
	{140, 0, 0, INTO(req.private_data)},
};

/* 12.6.6 */
static const struct adv_field mra[] = {
	{0, 0, 32, INTO(mra.local_comm_id)}, {4, 0, 32, INTO(mra.remote_comm_id)},
	{8, 6, 2, INTO(mra.about)},	     {9, 3, 5, INTO(mra.service_timeout)},
	{10, 0, 0, INTO(mra.private_data)},
};

/* 12.6.7 */
static const struct adv_field rej[] = {
	{0, 0, 32, INTO(rej.local_comm_id)}, {4, 0, 32, INTO(rej.remote_comm_id)},
	{8, 6, 2, INTO(rej.about)},	     {9, 1, 7, INTO(rej.info_len)},
	{10, 0, 16, INTO(rej.reason)},	     {12, 0, 0, INTO(rej.info)},
	{84, 0, 0, INTO(rej.private_data)},
};

/* 12.6.8. The vendor of ECE is in three reserved bytes. */
static const struct adv_field rep[] = {
	{0, 0, 32, INTO(rep.local_comm_id)},   {4, 0, 32, INTO(rep.remote_comm_id)},
	{8, 0, 32, INTO(rep.local_qkey)},      {12, 0, 24, INTO(rep.local_qpn)},
	{16, 0, 24, INTO(rep.local_eecn)},     {20, 0, 24, INTO(rep.starting_psn)},
	{23, 0, 8, INTO(rep.ece_vendor)},      {19, 0, 8, INTO(rep.ece_vendor), 8},
	{15, 0, 8, INTO(rep.ece_vendor), 16},  {24, 0, 8, INTO(rep.responder_resources)},
	{25, 0, 8, INTO(rep.initiator_depth)}, {26, 3, 5, INTO(rep.target_ack_delay)},
	{26, 1, 2, INTO(rep.failover)},	       {26, 0, 1, INTO(rep.flow_control)},
	{27, 5, 3, INTO(rep.rnr_retry_count)}, {27, 4, 1, INTO(rep.srq)},
	{28, 0, 64, INTO(rep.local_ca_guid)},  {36, 0, 0, INTO(rep.private_data)},
};

/* 12.6.9 */
static const struct adv_field rtu[] = {
	{0, 0, 32, INTO(rtu.local_comm_id)},
	{4, 0, 32, INTO(rtu.remote_comm_id)},
	{8, 0, 0, INTO(rtu.private_data)},
};

/* 12.6.10 */
static const struct adv_field dreq[] = {
	{0, 0, 32, INTO(dreq.local_comm_id)},
	{4, 0, 32, INTO(dreq.remote_comm_id)},
	{8, 0, 24, INTO(dreq.remote_qpn)},
	{12, 0, 0, INTO(dreq.private_data)},
};

/* 12.6.11 */
static const struct adv_field drep[] = {
	{0, 0, 32, INTO(drep.local_comm_id)},
	{4, 0, 32, INTO(drep.remote_comm_id)},
	{8, 0, 0, INTO(drep.private_data)},
};

/* 12.8.1 */
static const struct adv_field lap[] = {
	{0, 0, 32, INTO(lap.local_comm_id)},
	{4, 0, 32, INTO(lap.remote_comm_id)},
	{12, 0, 24, INTO(lap.remote_qpn)},
	{15, 3, 5, INTO(lap.remote_response_timeout)},
	{20, 0, 0, INTO(lap.alternate), .of = &lap_path},
	{64, 0, 0, INTO(lap.private_data)},
};

/* 12.8.2 */
static const struct adv_field apr[] = {
	{0, 0, 32, INTO(apr.local_comm_id)}, {4, 0, 32, INTO(apr.remote_comm_id)},
	{8, 0, 8, INTO(apr.info_len)},	     {9, 0, 8, INTO(apr.status)},
	{12, 0, 0, INTO(apr.info)},	     {84, 0, 0, INTO(apr.private_data)},
};

/* 12.11.1 */
static const struct adv_field sidr_req[] = {
	{0, 0, 32, INTO(sidr_req.request_id)},
	{4, 0, 16, INTO(sidr_req.pkey)},
	{8, 0, 64, INTO(sidr_req.service_id)},
	{16, 0, 0, INTO(sidr_req.private_data)},
};

/* 12.11.2. The vendor of ECE is in reserved bytes. */
static const struct adv_field sidr_rep[] = {
	{0, 0, 32, INTO(sidr_rep.request_id)},	  {4, 0, 8, INTO(sidr_rep.status)},
	{5, 0, 8, INTO(sidr_rep.info_len)},	  {11, 0, 8, INTO(sidr_rep.ece_vendor)},
	{6, 0, 16, INTO(sidr_rep.ece_vendor), 8}, {8, 0, 24, INTO(sidr_rep.qpn)},
	{12, 0, 64, INTO(sidr_rep.service_id)},	  {20, 0, 32, INTO(sidr_rep.qkey)},
	{24, 0, 0, INTO(sidr_rep.info)},	  {96, 0, 0, INTO(sidr_rep.private_data)},
};

/* ---- all messages ---- */

/* Returns the layout of the messages of an attribute; NULL: it is not one of the CM. */
static const struct adv_layout *layout_of(uint16_t attribute)
{
	static const struct adv_layout layouts[] = {
		[ADV_CM_REQ] = ADV_LAYOUT_BE(req),
		[ADV_CM_MRA] = ADV_LAYOUT_BE(mra),
		[ADV_CM_REJ] = ADV_LAYOUT_BE(rej),
		[ADV_CM_REP] = ADV_LAYOUT_BE(rep),
		[ADV_CM_RTU] = ADV_LAYOUT_BE(rtu),
		[ADV_CM_DREQ] = ADV_LAYOUT_BE(dreq),
		[ADV_CM_DREP] = ADV_LAYOUT_BE(drep),
		[ADV_CM_SIDR_REQ] = ADV_LAYOUT_BE(sidr_req),
		[ADV_CM_SIDR_REP] = ADV_LAYOUT_BE(sidr_rep),
		[ADV_CM_LAP] = ADV_LAYOUT_BE(lap),
		[ADV_CM_APR] = ADV_LAYOUT_BE(apr),
	};

	return attribute >= ADV_CM_REQ && attribute <= ADV_CM_APR ? &layouts[attribute] : NULL;
}

static bool info_fits(const struct adv_cm_packet *m)
{
	switch (m->attribute) {
	case ADV_CM_REJ:
		return m->rej.info_len <= ADV_CM_INFO_LEN;
	case ADV_CM_APR:
		return m->apr.info_len <= ADV_CM_INFO_LEN;
	case ADV_CM_SIDR_REP:
		return m->sidr_rep.info_len <= ADV_CM_INFO_LEN;
	default:
		return true;
	}
}

bool adv_cm_packet_decode(const uint8_t *p, size_t len, struct adv_cm_packet *m)
{
	const struct adv_layout *layout;
	struct adv_mad_header h;

	if (len != ADV_MAD_LEN || !adv_mad_header_decode(p, len, &h))
		return false;
	if (h.base_version != ADV_MAD_BASE_VERSION || h.mgmt_class != ADV_MAD_CLASS_CM ||
	    h.class_version != ADV_CM_CLASS_VERSION || h.method != ADV_MAD_METHOD_SEND)
		return false;
	layout = layout_of(h.attribute);
	if (!layout)
		return false;
	m->attribute = h.attribute;
	m->tid = h.tid;
	m->modifier = h.modifier;
	adv_layout_decode(layout, p + ADV_MAD_HEADER_LEN, m);
	return info_fits(m);
}

bool adv_cm_packet_encode(const struct adv_cm_packet *m, uint8_t out[ADV_MAD_LEN])
{
	const struct adv_layout *layout = layout_of(m->attribute);
	const struct adv_mad_header h = {
		.base_version = ADV_MAD_BASE_VERSION,
		.mgmt_class = ADV_MAD_CLASS_CM,
		.class_version = ADV_CM_CLASS_VERSION,
		.method = ADV_MAD_METHOD_SEND,
		.tid = m->tid,
		.attribute = m->attribute,
		.modifier = m->modifier,
	};

	if (!layout || !info_fits(m))
		return false;
	memset(out, 0, ADV_MAD_LEN);
	adv_mad_header_encode(&h, out);
	adv_layout_encode(layout, m, out + ADV_MAD_HEADER_LEN);
	return true;
}
