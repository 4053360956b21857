/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/cm_message.h"
#include "base/bytes.h"

#define MASK24 0xffffffu

static uint32_t get_be24(const uint8_t *p)
{
	return adv_get_be32(p) >> 8;
}

/* Writes three bytes only. */
static void put_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

/* ---- paths ---- */

/* Decodes LIDs and GIDs. The layout of the other fields differs between REQ and LAP. */
static void path_ends_decode(const uint8_t *p, struct adv_cm_path *path)
{
	path->local_lid = adv_get_be16(p);
	path->remote_lid = adv_get_be16(p + 2);
	memcpy(path->local_gid.raw, p + 4, 16);
	memcpy(path->remote_gid.raw, p + 20, 16);
}

static void path_ends_encode(const struct adv_cm_path *path, uint8_t *p)
{
	adv_put_be16(p, path->local_lid);
	adv_put_be16(p + 2, path->remote_lid);
	memcpy(p + 4, path->local_gid.raw, 16);
	memcpy(p + 20, path->remote_gid.raw, 16);
}

static void path_decode(const uint8_t *p, struct adv_cm_path *path)
{
	path_ends_decode(p, path);
	path->flow_label = adv_get_be32(p + 36) >> 12;
	path->packet_rate = p[39] & 0x3f;
	path->traffic_class = p[40];
	path->hop_limit = p[41];
	path->sl = p[42] >> 4;
	path->subnet_local = p[42] >> 3 & 1;
	path->local_ack_timeout = p[43] >> 3;
}

static void path_encode(const struct adv_cm_path *path, uint8_t *p)
{
	path_ends_encode(path, p);
	adv_put_be32(p + 36, path->flow_label << 12 | (path->packet_rate & 0x3f));
	p[40] = path->traffic_class;
	p[41] = path->hop_limit;
	p[42] = (uint8_t)(path->sl << 4 | path->subnet_local << 3);
	p[43] = (uint8_t)(path->local_ack_timeout << 3);
}

/* ---- REQ: 12.6.5 ---- */

static bool req_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	struct adv_cm_req *r = &m->req;

	r->local_comm_id = adv_get_be32(p);
	r->ece_vendor = adv_get_be32(p + 4) & MASK24;
	r->service_id = adv_get_be64(p + 8);
	r->local_ca_guid = adv_get_be64(p + 16);
	r->local_qkey = adv_get_be32(p + 28);
	r->local_qpn = get_be24(p + 32);
	r->responder_resources = p[35];
	r->local_eecn = get_be24(p + 36);
	r->initiator_depth = p[39];
	r->remote_eecn = get_be24(p + 40);
	r->remote_response_timeout = p[43] >> 3;
	r->transport = p[43] >> 1 & 3;
	r->flow_control = p[43] & 1;
	r->starting_psn = get_be24(p + 44);
	r->local_response_timeout = p[47] >> 3;
	r->retry_count = p[47] & 7;
	r->pkey = adv_get_be16(p + 48);
	r->path_mtu = p[50] >> 4;
	r->rdc_exists = p[50] >> 3 & 1;
	r->rnr_retry_count = p[50] & 7;
	r->max_cm_retries = p[51] >> 4;
	r->srq = p[51] >> 3 & 1;
	r->extended_transport = p[51] & 7;
	path_decode(p + 52, &r->primary);
	path_decode(p + 96, &r->alternate);
	r->sap_supported = p[139] >> 2 & 1;
	memcpy(r->private_data, p + 140, sizeof(r->private_data));
	return true;
}

static void req_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	const struct adv_cm_req *r = &m->req;

	adv_put_be32(p, r->local_comm_id);
	adv_put_be32(p + 4, r->ece_vendor & MASK24);
	adv_put_be64(p + 8, r->service_id);
	adv_put_be64(p + 16, r->local_ca_guid);
	adv_put_be32(p + 28, r->local_qkey);
	put_be24(p + 32, r->local_qpn);
	p[35] = r->responder_resources;
	put_be24(p + 36, r->local_eecn);
	p[39] = r->initiator_depth;
	put_be24(p + 40, r->remote_eecn);
	p[43] = (uint8_t)(r->remote_response_timeout << 3 | (r->transport & 3) << 1 |
			  r->flow_control);
	put_be24(p + 44, r->starting_psn);
	p[47] = (uint8_t)(r->local_response_timeout << 3 | (r->retry_count & 7));
	adv_put_be16(p + 48, r->pkey);
	p[50] = (uint8_t)(r->path_mtu << 4 | r->rdc_exists << 3 | (r->rnr_retry_count & 7));
	p[51] = (uint8_t)(r->max_cm_retries << 4 | r->srq << 3 | (r->extended_transport & 7));
	path_encode(&r->primary, p + 52);
	path_encode(&r->alternate, p + 96);
	p[139] |= (uint8_t)(r->sap_supported << 2);
	memcpy(p + 140, r->private_data, sizeof(r->private_data));
}

/* ---- MRA: 12.6.6 ---- */

static bool mra_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->mra.local_comm_id = adv_get_be32(p);
	m->mra.remote_comm_id = adv_get_be32(p + 4);
	m->mra.about = p[8] >> 6;
	m->mra.service_timeout = p[9] >> 3;
	memcpy(m->mra.private_data, p + 10, sizeof(m->mra.private_data));
	return true;
}

static void mra_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->mra.local_comm_id);
	adv_put_be32(p + 4, m->mra.remote_comm_id);
	p[8] = (uint8_t)(m->mra.about << 6);
	p[9] = (uint8_t)(m->mra.service_timeout << 3);
	memcpy(p + 10, m->mra.private_data, sizeof(m->mra.private_data));
}

/* ---- REJ: 12.6.7 ---- */

static bool rej_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->rej.local_comm_id = adv_get_be32(p);
	m->rej.remote_comm_id = adv_get_be32(p + 4);
	m->rej.about = p[8] >> 6;
	m->rej.info_len = p[9] >> 1;
	m->rej.reason = adv_get_be16(p + 10);
	memcpy(m->rej.info, p + 12, sizeof(m->rej.info));
	memcpy(m->rej.private_data, p + 84, sizeof(m->rej.private_data));
	return m->rej.info_len <= ADV_CM_INFO_LEN;
}

static void rej_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->rej.local_comm_id);
	adv_put_be32(p + 4, m->rej.remote_comm_id);
	p[8] = (uint8_t)(m->rej.about << 6);
	p[9] = (uint8_t)(m->rej.info_len << 1);
	adv_put_be16(p + 10, m->rej.reason);
	memcpy(p + 12, m->rej.info, sizeof(m->rej.info));
	memcpy(p + 84, m->rej.private_data, sizeof(m->rej.private_data));
}

/* ---- REP: 12.6.8 ---- */

static bool rep_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	struct adv_cm_rep *r = &m->rep;

	r->local_comm_id = adv_get_be32(p);
	r->remote_comm_id = adv_get_be32(p + 4);
	r->local_qkey = adv_get_be32(p + 8);
	r->local_qpn = get_be24(p + 12);
	r->local_eecn = get_be24(p + 16);
	r->starting_psn = get_be24(p + 20);
	r->ece_vendor = (uint32_t)p[15] << 16 | (uint32_t)p[19] << 8 | p[23];
	r->responder_resources = p[24];
	r->initiator_depth = p[25];
	r->target_ack_delay = p[26] >> 3;
	r->failover = p[26] >> 1 & 3;
	r->flow_control = p[26] & 1;
	r->rnr_retry_count = p[27] >> 5;
	r->srq = p[27] >> 4 & 1;
	r->local_ca_guid = adv_get_be64(p + 28);
	memcpy(r->private_data, p + 36, sizeof(r->private_data));
	return true;
}

static void rep_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	const struct adv_cm_rep *r = &m->rep;

	adv_put_be32(p, r->local_comm_id);
	adv_put_be32(p + 4, r->remote_comm_id);
	adv_put_be32(p + 8, r->local_qkey);
	put_be24(p + 12, r->local_qpn);
	p[15] = (uint8_t)(r->ece_vendor >> 16);
	put_be24(p + 16, r->local_eecn);
	p[19] = (uint8_t)(r->ece_vendor >> 8);
	put_be24(p + 20, r->starting_psn);
	p[23] = (uint8_t)r->ece_vendor;
	p[24] = r->responder_resources;
	p[25] = r->initiator_depth;
	p[26] = (uint8_t)(r->target_ack_delay << 3 | (r->failover & 3) << 1 | r->flow_control);
	p[27] = (uint8_t)(r->rnr_retry_count << 5 | r->srq << 4);
	adv_put_be64(p + 28, r->local_ca_guid);
	memcpy(p + 36, r->private_data, sizeof(r->private_data));
}

/* ---- RTU, DREQ, DREP: 12.6.9 to 12.6.11 ---- */

static bool rtu_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->rtu.local_comm_id = adv_get_be32(p);
	m->rtu.remote_comm_id = adv_get_be32(p + 4);
	memcpy(m->rtu.private_data, p + 8, sizeof(m->rtu.private_data));
	return true;
}

static void rtu_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->rtu.local_comm_id);
	adv_put_be32(p + 4, m->rtu.remote_comm_id);
	memcpy(p + 8, m->rtu.private_data, sizeof(m->rtu.private_data));
}

static bool dreq_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->dreq.local_comm_id = adv_get_be32(p);
	m->dreq.remote_comm_id = adv_get_be32(p + 4);
	m->dreq.remote_qpn = get_be24(p + 8);
	memcpy(m->dreq.private_data, p + 12, sizeof(m->dreq.private_data));
	return true;
}

static void dreq_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->dreq.local_comm_id);
	adv_put_be32(p + 4, m->dreq.remote_comm_id);
	put_be24(p + 8, m->dreq.remote_qpn);
	memcpy(p + 12, m->dreq.private_data, sizeof(m->dreq.private_data));
}

static bool drep_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->drep.local_comm_id = adv_get_be32(p);
	m->drep.remote_comm_id = adv_get_be32(p + 4);
	memcpy(m->drep.private_data, p + 8, sizeof(m->drep.private_data));
	return true;
}

static void drep_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->drep.local_comm_id);
	adv_put_be32(p + 4, m->drep.remote_comm_id);
	memcpy(p + 8, m->drep.private_data, sizeof(m->drep.private_data));
}

/* ---- LAP, APR: 12.8 ---- */

static bool lap_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	struct adv_cm_path *path = &m->lap.alternate;

	m->lap.local_comm_id = adv_get_be32(p);
	m->lap.remote_comm_id = adv_get_be32(p + 4);
	m->lap.remote_qpn = get_be24(p + 12);
	m->lap.remote_response_timeout = p[15] >> 3;
	path_ends_decode(p + 20, path);
	path->flow_label = adv_get_be32(p + 56) >> 12;
	path->traffic_class = p[59];
	path->hop_limit = p[60];
	path->packet_rate = p[61] & 0x3f;
	path->sl = p[62] >> 4;
	path->subnet_local = p[62] >> 3 & 1;
	path->local_ack_timeout = p[63] >> 3;
	memcpy(m->lap.private_data, p + 64, sizeof(m->lap.private_data));
	return true;
}

static void lap_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	const struct adv_cm_path *path = &m->lap.alternate;

	adv_put_be32(p, m->lap.local_comm_id);
	adv_put_be32(p + 4, m->lap.remote_comm_id);
	put_be24(p + 12, m->lap.remote_qpn);
	p[15] = (uint8_t)(m->lap.remote_response_timeout << 3);
	path_ends_encode(path, p + 20);
	adv_put_be32(p + 56, path->flow_label << 12 | path->traffic_class);
	p[60] = path->hop_limit;
	p[61] = path->packet_rate & 0x3f;
	p[62] = (uint8_t)(path->sl << 4 | path->subnet_local << 3);
	p[63] = (uint8_t)(path->local_ack_timeout << 3);
	memcpy(p + 64, m->lap.private_data, sizeof(m->lap.private_data));
}

static bool apr_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->apr.local_comm_id = adv_get_be32(p);
	m->apr.remote_comm_id = adv_get_be32(p + 4);
	m->apr.info_len = p[8];
	m->apr.status = p[9];
	memcpy(m->apr.info, p + 12, sizeof(m->apr.info));
	memcpy(m->apr.private_data, p + 84, sizeof(m->apr.private_data));
	return m->apr.info_len <= ADV_CM_INFO_LEN;
}

static void apr_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->apr.local_comm_id);
	adv_put_be32(p + 4, m->apr.remote_comm_id);
	p[8] = m->apr.info_len;
	p[9] = m->apr.status;
	memcpy(p + 12, m->apr.info, sizeof(m->apr.info));
	memcpy(p + 84, m->apr.private_data, sizeof(m->apr.private_data));
}

/* ---- SIDR: 12.11 ---- */

static bool sidr_req_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	m->sidr_req.request_id = adv_get_be32(p);
	m->sidr_req.pkey = adv_get_be16(p + 4);
	m->sidr_req.service_id = adv_get_be64(p + 8);
	memcpy(m->sidr_req.private_data, p + 16, sizeof(m->sidr_req.private_data));
	return true;
}

static void sidr_req_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	adv_put_be32(p, m->sidr_req.request_id);
	adv_put_be16(p + 4, m->sidr_req.pkey);
	adv_put_be64(p + 8, m->sidr_req.service_id);
	memcpy(p + 16, m->sidr_req.private_data, sizeof(m->sidr_req.private_data));
}

static bool sidr_rep_decode(const uint8_t *p, struct adv_cm_packet *m)
{
	struct adv_cm_sidr_rep *r = &m->sidr_rep;

	r->request_id = adv_get_be32(p);
	r->status = p[4];
	r->info_len = p[5];
	r->ece_vendor = (uint32_t)adv_get_be16(p + 6) << 8 | p[11];
	r->qpn = get_be24(p + 8);
	r->service_id = adv_get_be64(p + 12);
	r->qkey = adv_get_be32(p + 20);
	memcpy(r->info, p + 24, sizeof(r->info));
	memcpy(r->private_data, p + 96, sizeof(r->private_data));
	return r->info_len <= ADV_CM_INFO_LEN;
}

static void sidr_rep_encode(const struct adv_cm_packet *m, uint8_t *p)
{
	const struct adv_cm_sidr_rep *r = &m->sidr_rep;

	adv_put_be32(p, r->request_id);
	p[4] = r->status;
	p[5] = r->info_len;
	adv_put_be16(p + 6, (uint16_t)(r->ece_vendor >> 8));
	put_be24(p + 8, r->qpn);
	p[11] = (uint8_t)r->ece_vendor;
	adv_put_be64(p + 12, r->service_id);
	adv_put_be32(p + 20, r->qkey);
	memcpy(p + 24, r->info, sizeof(r->info));
	memcpy(p + 96, r->private_data, sizeof(r->private_data));
}

/* ---- all messages ---- */

struct codec {
	const char *name;
	bool (*decode)(const uint8_t *p, struct adv_cm_packet *m);
	void (*encode)(const struct adv_cm_packet *m, uint8_t *p);
};

static const struct codec *codec_of(uint16_t attribute)
{
	static const struct codec codecs[] = {
		{"REQ", req_decode, req_encode},
		{"MRA", mra_decode, mra_encode},
		{"REJ", rej_decode, rej_encode},
		{"REP", rep_decode, rep_encode},
		{"RTU", rtu_decode, rtu_encode},
		{"DREQ", dreq_decode, dreq_encode},
		{"DREP", drep_decode, drep_encode},
		{"SIDR_REQ", sidr_req_decode, sidr_req_encode},
		{"SIDR_REP", sidr_rep_decode, sidr_rep_encode},
		{"LAP", lap_decode, lap_encode},
		{"APR", apr_decode, apr_encode},
	};

	return attribute >= ADV_CM_REQ && attribute <= ADV_CM_APR ? &codecs[attribute - ADV_CM_REQ]
								  : NULL;
}

bool adv_cm_packet_decode(const uint8_t *p, size_t len, struct adv_cm_packet *m)
{
	const struct codec *codec;
	struct adv_mad_header h;

	if (len != ADV_MAD_LEN || !adv_mad_header_decode(p, len, &h))
		return false;
	if (h.base_version != ADV_MAD_BASE_VERSION || h.mgmt_class != ADV_MAD_CLASS_CM ||
	    h.class_version != ADV_CM_CLASS_VERSION || h.method != ADV_MAD_METHOD_SEND)
		return false;
	codec = codec_of(h.attribute);
	if (!codec)
		return false;
	m->attribute = h.attribute;
	m->tid = h.tid;
	m->modifier = h.modifier;
	return codec->decode(p + ADV_MAD_HEADER_LEN, m);
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

bool adv_cm_packet_encode(const struct adv_cm_packet *m, uint8_t out[ADV_MAD_LEN])
{
	const struct codec *codec = codec_of(m->attribute);
	const struct adv_mad_header h = {
		.base_version = ADV_MAD_BASE_VERSION,
		.mgmt_class = ADV_MAD_CLASS_CM,
		.class_version = ADV_CM_CLASS_VERSION,
		.method = ADV_MAD_METHOD_SEND,
		.tid = m->tid,
		.attribute = m->attribute,
		.modifier = m->modifier,
	};

	if (!codec || !info_fits(m))
		return false;
	memset(out, 0, ADV_MAD_LEN);
	adv_mad_header_encode(&h, out);
	codec->encode(m, out + ADV_MAD_HEADER_LEN);
	return true;
}

const char *adv_cm_attribute_name(uint16_t attribute)
{
	const struct codec *codec = codec_of(attribute);

	return codec ? codec->name : NULL;
}
