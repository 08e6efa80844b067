"""What the texts say: slots, and the phrasings they appear in, by domain.

Template language: `(a|b)` is one of, `[a]` is there or not, `{slot}` is a value, `~` is a filler
sentence, a backslash takes the next character as it is. A domain has `docs`, whole texts, and
`bits`, sentences of which a text is composed. Every sixth of each is kept out of training.
"""

from values import *  # noqa: F403 - a vocabulary of generators, used as such


class Slot:
    """A value with its schema type, the keys it may have, and how it is drawn."""

    told = False  # whether the generator writes a whole sentence

    def __init__(self, kind, gen, keys, options=None):
        self.kind, self.gen, self.keys, self.options = kind, gen, keys.split(), options


def s(gen, keys):
    return Slot("string", same(gen), keys)


def closed(lex, keys):
    """A string from a short list, which a schema may also state as an enum."""
    return Slot("string", same(lex), keys, options=lex)


def i(lo, hi, keys, words=0.25):
    return Slot("integer", integer(lo, hi, words), keys)


def n(lo, hi, keys, places=(1, 2), whole=0.12):
    return Slot("number", number(lo, hi, places, whole), keys)


def arr(gen, keys, lo=1, hi=4):
    return Slot("[string]", several(gen, lo, hi), keys)


def flag(keys, yes, no):
    """A boolean told by whole phrases."""

    def gen(c):
        v = c.chance(0.5)
        return v, c.pick((yes if v else no).split("|"))

    return Slot("boolean", gen, keys)


def enum(keys, **literals):
    """An enum told by phrases: literal="phrase|phrase"; the literal itself is always a phrase."""
    table = {k: v.split("|") for k, v in literals.items()}

    def gen(c):
        v = c.pick(list(table))
        return v, c.pick(table[v])

    return Slot("enum", gen, keys, options=list(table))


COMMON = dict(
    person=s(person_name, "name full_name person contact contact_name contact_person who person_name"),
    email=s(email_addr, "email email_address mail e_mail contact_email reply_to"),
    phone=s(phone_no, "phone phone_number telephone mobile tel cell contact_number"),
    city=s(city_name, "city town place location municipality"),
    country=closed(COUNTRY, "country nation country_name"),
    street=s(street_addr, "street street_address address_line line1 road"),
    zip=s(zip_code, "zip zip_code postal_code postcode zipcode"),
    company=s(company_name, "company company_name organization firm employer business org"),
    date=s(date_str, "date day on when due_date scheduled_for"),
    time=s(time_str, "time at start_time hour clock_time"),
    code=s(code_str, "id code reference ref number identifier reference_number"),
    url=s(url_str, "url website link homepage web_page site"),
    note=s(NOTE, "note notes comment remark remarks instructions special_request memo"),
    color=closed(COLOR, "color colour shade paint"),
    price=n(0.5, 900, "price cost amount total unit_price value sum"),
    tags=arr(TAG, "tags labels keywords topics categories"),
)

# Sentences about common slots that fit nearly any text.
COMMON_BITS = """
You can reach me at {email}.
My (e-mail|email|mail address) is {email}.
(Write|Reply) to {email}[, please].
(Send|Please send) the (details|papers|confirmation) to {email}.
(Call|Ring|Phone) {phone} (if anything comes up|in case of questions|any time).
My (number|phone number|mobile) is {phone}.
(Phone|Tel|Tel.): {phone}
{phone} is the best number to (call|reach us on).
If it is easier, (call|text) {phone}.
For questions (ask|contact) {person}.
(I am|I'm|This is|My name is) {person}.
{person} here.
(It is|It's) for {person}.
Contact (person|): {person} \\({email}\\).
{person} \\({phone}\\) (knows more|can tell you more|is in charge).
(We are|I live|I am based) in {city}.
(We are|It is) (located|based) in {city}, {country}.
The address is {street}, {zip} {city}.
(Address|Where): {street}, {city} {zip}
{street} in {city} is the place.
You (will find|find) us at {street} in {city}, {country}.
I work (for|at) {company}.
(On behalf of|I represent) {company}.
We at {company} (appreciate|value) your help.
(See|More at|Details on|More info:) {url}
Our (site|website) is {url}.
(Reference|Ref|Our reference): {code}
(Please|Kindly) (quote|mention) {code}.
The (number|code|reference) is {code}.
(Note|Remark|One more thing|PS): {note}.
(Please|And) {note}.
(It is|That will be) on {date}.
(Date|When): {date}
(At|Around) {time} (is fine|works|would be good).
(Tags|Labels|Topics): {tags}
(File|Tag) (it|this) under {tags}.
The (color|colour) is {color}.
It comes in {color}.
I would (like|prefer) it in {color}.
""".strip().split("\n")


class Domain:
    def __init__(self, name, slots, docs, bits, groups=None, use="", heldout=False):
        self.name, self.heldout = name, heldout
        self.slots = {k: COMMON[k] for k in use.split()} | slots
        self.docs = docs.strip().split("\n")
        self.bits = bits.strip().split("\n")
        self.groups = groups or {}


ADDRESS = {"address location addr shipping_address destination where": "street zip city country"}
CONTACT = {"contact person customer client sender user": "person email phone"}

DOMAINS = [
    Domain("order", dict(
        person=s(person_name, "customer name customer_name buyer client ordered_by recipient"),
        item=s(product_name, "item product article product_name goods ordered_item what"),
        qty=i(1, 60, "quantity qty count amount units pieces number_of_units"),
        order_id=s(code_str, "order_id order_number id order_no reference"),
        total=n(5, 4000, "total total_price amount sum price order_total"),
        currency=closed(Lex("EUR,USD,GBP,CHF,SEK,JPY,PLN,CAD", ","), "currency currency_code"),
        gift=flag("gift is_gift gift_wrap wrap", "Please wrap it as a gift.|It is a present.|Gift wrapping, please.|I want it gift wrapped.", "No gift wrapping needed.|It is not a gift.|No need to wrap it.|Do not gift wrap it."),
        express=flag("express is_express rush fast_delivery", "Express shipping, please.|I need it as fast as possible, so ship it express.|Use express delivery.", "Standard shipping is fine.|No need for express.|There is no hurry, normal shipping will do."),
        pay=enum("payment payment_method paid_by pay_with", card="by credit card|with my card|by card", cash="in cash|cash", paypal="with PayPal|via paypal", transfer="by bank transfer|via transfer", invoice="on invoice|by invoice"),
        status=enum("status order_status state", pending="still pending|pending|not processed yet", shipped="already shipped|shipped|on its way", delivered="delivered|already delivered|with the customer", cancelled="cancelled|called off"),
        items=arr(product_name, "items products articles goods list order_items things", 2, 4)),
        """Hi, I would like to order {qty} {item} for {person}. Please send it to {street}, {zip} {city}.
(Hello|Dear team|Good morning), {person} (here|speaking). (I'd like|I want|I need) {qty} x {item}[, deliver to {city}]. {gift} {express}
Order {order_id}: {qty} x {item}, total {total} {currency}, (customer|buyer) {person}, {city}.
{person} (ordered|bought|purchased) {qty} {item} (for|at) {total} {currency} on {date}. The order \\({order_id}\\) is {status}.
(We received|There is) a new order from {person}[ in {city}]: {items}. [The total is {total} {currency}.] [Paid {pay}.]
(Could you|Can you|Please) send me {items}? (I will pay|I'd pay|I am going to pay) {pay}. [{gift}] (Deliver|Ship) to {street} in {city}. (Regards|Best|Thanks), {person}
The order {order_id} placed by {person} is {status}. It (contains|consists of|has) {items} and (costs|comes to) {total} {currency}. [{express}]
For my {city} office I need {qty} of the {item}. I pay {pay}. {express} {person}, {company}
(Thank you|Thanks) for your order, {person}! (Your|The) {item} \\(quantity: {qty}\\) will (arrive|be with you) on {date}. (Total|Amount): {currency} {total}. [Order no. {order_id}]
Order no. {order_id}, {date}. {items}. {total} {currency}, paid {pay}. Status: {status}.
yo can u send {qty} {item} to {city} asap, its for {person}, paying {pay}, thx
I bought {qty} {item} from your shop on {date}, order {order_id}, and paid {total} {currency} {pay}. It is {status}.""",
        """(I'd like|I want) to order {qty} {item}.
(Please|Kindly) (send|ship|deliver) {qty} {item}.
The quantity is {qty}.
We need {qty} (pieces|units) of the {item}.
(My|The) order number is {order_id}.
This is about order {order_id}.
I (paid|will pay) {pay}.
(Payment|It was paid) {pay}.
The (total|sum|whole thing) (is|comes to|was) {total} {currency}.
It cost me {total} {currency} (altogether|in total).
{gift}
{express}
(The order is|It is|Right now it is) {status}.
(I ordered|We ordered|My list:) {items}.
(The buyer|The customer) is {person}.
(Ship it|Send everything) to {city}.
(Please deliver|It should arrive) on {date}.
The {item} is what (I am after|we want).""",
        {**ADDRESS, **CONTACT, "payment billing": "total currency pay", "product line": "item qty"}, "email phone street zip city country company date note color"),
    Domain("ticket", dict(
        reporter=s(person_name, "reporter reported_by customer name user author opened_by"),
        assignee=s(person_name, "assignee assigned_to owner handler agent responsible"),
        issue=s(issue_str, "issue problem description summary title subject error symptom"),
        tid=s(code_str, "ticket_id ticket id number case_id case"),
        prio=enum("priority severity urgency level", low="low|not urgent|low priority|minor", medium="medium|normal|of medium priority", high="high|urgent|pretty urgent|high priority", critical="critical|a showstopper|critical, everything is down"),
        status=enum("status state ticket_status", open="open|still open|not solved yet", closed="closed|resolved and closed|done", in_progress="in progress|being worked on|under way", on_hold="on hold|waiting for a reply|paused"),
        category=enum("category type kind area", bug="a bug|bug", feature="a feature request|feature", question="a question|question|just a question", billing="a billing matter|billing", access="an access problem|access"),
        version=s(version_str, "version app_version software_version release build"),
        device=closed(Lex("iPhone,Pixel 8,laptop,tablet,MacBook,desktop PC,Galaxy S22,Chromebook,iPad,work phone", ","), "device hardware machine platform"),
        repro=flag("reproducible can_reproduce always repeatable", "It happens every time.|I can reproduce it.|We can reproduce this reliably.", "I could not reproduce it.|It is not reproducible.|We cannot make it happen again."),
        hours=i(1, 72, "hours hours_spent effort_hours time_spent duration_hours"),
        affected=i(1, 900, "affected_users users_affected affected number_of_users")),
        """Since the update to version {version} {issue}. I use a {device}. [{repro}] (Thanks|Regards), {reporter}
Ticket {tid} \\({prio}\\): {issue}. (Reported by|Reporter:) {reporter}[, assigned to {assignee}]. Status: {status}.
{reporter} (says|reports|complains|wrote) that {issue}. (This is|I would call it) {prio}. [{affected} users are affected.]
Hi support, {issue}. [It started on {date}.] {repro} Please (call|contact) me at {phone}. {reporter}, {company}
{assignee} is (looking into|working on|handling) {tid}: {issue}. [It is {status}.] [So far it took {hours} hours.]
Ticket {tid} was opened by {reporter} on {date}. It is {category} and {prio}. {assignee} took it over.
From: {reporter} <{email}>. Subject: {issue}. (Priority|Urgency) {prio}. [{repro}]
I'm afraid {issue} on my {device}, version {version}. {affected} (people|colleagues) (have|see) the same. {email}
Case {tid} is {status}. (Problem|Issue): {issue}. Owner: {assignee}. Tags: {tags}.
Hello, can somebody help? {issue}, and it is {prio} for us. {repro} Labels {tags}. - {reporter}
{issue}!! {prio}!! {reporter} {phone}
We have {affected} people here for whom {issue}. Treat it as {prio}[, please]. Case number {tid}.""",
        """(The problem is that|It seems|Unfortunately,) {issue}.
(Today|Since yesterday|This morning) I noticed that {issue}.
{issue} again.
(It was|This was) reported by {reporter}.
{reporter} (told us|noticed it|opened the ticket).
(Please assign it|It is assigned|I gave it) to {assignee}.
{assignee} will (take care of it|handle this|look into it).
(The ticket|The case) number is {tid}.
(The priority is|I'd say it is|It is) {prio}.
(The ticket is|It is|Currently it is) {status}.
This is {category}.
We run version {version}.
(I am using|It happens on) (a|my) {device}.
{repro}
(We spent|It took) {hours} hours on it.
{affected} users (are affected|noticed it).""",
        {**CONTACT, "meta details": "prio status category", "environment env system": "version device"}, "email phone company date tags url"),
    Domain("person", dict(
        person=s(person_name, "name full_name person person_name who employee"),
        age=i(16, 95, "age years age_years years_old", 0),
        job=s(JOB, "job occupation profession role job_title position title"),
        langs=arr(LANGUAGE, "languages spoken_languages speaks language_skills"),
        hobbies=arr(HOBBY, "hobbies interests likes pastimes free_time"),
        skills=arr(SKILL, "skills expertise knows competencies abilities"),
        born=s(date_str, "birth_date born date_of_birth birthday dob"),
        byear=Slot("integer", year, "birth_year year_of_birth born_in year"),
        home=s(city_name, "city hometown residence lives_in home town"),
        origin=s(city_name, "birthplace born_in place_of_birth origin grew_up_in"),
        married=flag("married is_married", "She is married.|He is married.|I am married.|They are married.", "He is single.|She is not married.|I am not married.|Not married."),
        remote=flag("remote works_remotely home_office", "She works remotely.|I work from home.|He works from home.", "He works at the office.|I go to the office every day.|She does not work remotely."),
        kids=i(0, 7, "children kids number_of_children child_count", 0.5),
        exp=i(1, 40, "years_experience experience experience_years years"),
        salary=i(18000, 190000, "salary annual_salary income pay"),
        height=n(1.4, 2.1, "height height_m size", (2,), 0)),
        """{person} is {age} years old and lives in {home}. (She|He) works as a {job} at {company}. [{married}]
(My name is|I'm|I am) {person}, {age}, a {job} from {home}. In my free time I (enjoy|like|do) {hobbies}.
{person}, born {born} in {origin}, speaks {langs}. (Her|His) hobbies are {hobbies}.
Meet {person}, our new {job}! (She|He) comes from {origin}[, knows {skills}] and has {exp} years of experience.
{person} \\({age}\\), {job}, {home}. Skills: {skills}. Languages: {langs}.
I live in {home} with my {kids} kids and work for {company} as a {job}. My name is {person}[ and I am {age}].
(Our|The) (candidate|applicant) {person} has {exp} years of experience as a {job}, asks for {salary} a year, and speaks {langs}. [{remote}]
At {age}, {person} still works as a {job} in {home}. {married} {kids} children.
{person} was born in {byear} in {origin} but moved to {home}. (There|Now) (she|he) is a {job}. [{remote}]
(Hey|Hi) all, I am {person} and I just joined as {job}. I speak {langs}, and I am into {hobbies}. {remote}
Name {person}, age {age}, height {height} m, from {origin}, now in {home}.
{job} wanted? Try {person} from {home}: {skills}, {exp} years in the business. {email}""",
        """(I am|She is|He is) {age} years old.
{person} is {age}.
(She|He) turned {age} (last week|recently|in spring).
(I work|She works|He works|They work) as a {job}.
By profession (I am|he is|she is) a {job}.
(I speak|He speaks|She speaks) {langs}.
(Her|His|My) hobbies (include|are) {hobbies}.
(I love|She loves|He loves) {hobbies}.
(Skilled in|She knows|He knows|I know) {skills}.
(I was|He was|She was) born on {born}.
(I was|He was|She was) born in {byear}.
(I live|He lives|She lives) in {home}.
(Originally|I come|He comes|She comes) from {origin}.
{married}
{remote}
(I have|She has|He has) {kids} (kids|children).
(I have|She has|He has) worked in the field for {exp} years.
(The salary is|She earns|He earns|I earn) {salary} a year.
The person is called {person}.
(Height|Body height): {height} m.""",
        {"job employment work": "job company salary", "contact contact_info": "email phone", "birth": "born origin", "profile": "person age job"}, "email phone company country"),
    Domain("event", dict(
        event=s(event_name, "event name title event_name what occasion"),
        venue=s(VENUE, "venue location place where hall site"),
        date=s(date_str, "date day event_date when on"),
        start=s(time_str, "start start_time starts_at begin from time"),
        end=s(time_str, "end end_time ends_at until to finish"),
        host=s(person_name, "organizer host organiser organized_by contact chair"),
        speakers=arr(person_name, "speakers guests presenters attendees participants artists"),
        seats=i(8, 5000, "capacity seats max_attendees places attendees guests"),
        fee=n(2, 300, "fee ticket_price price entry_fee cost admission"),
        free=flag("free is_free free_entry free_admission", "Admission is free.|Entry is free.|You do not need a ticket.", "There is an entrance fee.|You need to buy a ticket.|It is not free."),
        online=flag("online virtual is_online streamed", "It takes place online.|You can join by video.|The event is virtual.", "It is in person only.|There will be no stream.|It does not take place online."),
        kind=enum("type kind category event_type format", conference="a conference|the conference", workshop="a hands-on workshop|a workshop", concert="a concert|a live concert", party="a party|a big party", meeting="a meeting|a regular meeting", webinar="a webinar|an online seminar"),
        deadline=s(date_str, "deadline register_by rsvp_by registration_deadline")),
        """The {event} (takes place|will be held|happens) on {date} at {venue}[ in {city}]. (Doors open|It starts|We begin) at {start}. [{free}]
Join us for the {event}, {date}, {start} to {end}, {venue}! Organized by {host}. [Tickets: {fee}]
(You are invited|Invitation) to {event} in {city} on {date}. Speakers: {speakers}. {online}
{host} invites you to the {event} at {venue}. It begins at {start} on {date}. [Please register by {deadline}.] [There are {seats} seats.]
(Save the date|Mark your calendars): {event} on {date}, {city}. {free} [Only {seats} places.]
Hey, are you coming to the {event}? It's {date} at {venue}, {start} until {end}. {speakers} will be there too.
We are planning {kind} called {event} for {seats} people in {city}. {host} is organizing it. Register before {deadline}.
On {date} {host} will open the {event} in {city}; {speakers} (are going to speak|will speak|perform). Entry {fee}.
{event} | {date} | {start}-{end} | {venue} | {fee}
Minutes: the {event} was moved to {date}, new room {venue}, same time {start}. Host stays {host}.
Tickets for the {event} \\({venue}, {city}\\) cost {fee}. It is {kind} with {speakers}. {online}
Dear guests, the {event} starts at {start} and ends at {end}. Place: {venue}. Guests of honor are {speakers}.""",
        """(The event is called|We call it|Its name is) {event}.
(It takes place|We meet|It will be) on {date}.
(The venue is|We meet at|It will be at) {venue}.
(It starts|Kick-off is|Doors open) at {start}.
(It ends|We finish|It goes on until) {end}.
{host} (organizes|hosts|runs) it.
(The organizer is|Ask) {host}.
(Among the guests are|Speakers are|On stage:) {speakers}.
There (is room|are seats) for {seats} people.
(A ticket costs|Admission is|The fee is) {fee}.
{free}
{online}
It is {kind}.
(Register|Please sign up) (by|before) {deadline}.""",
        {"when schedule": "date start end", "place location where": "venue city", "organizer contact": "host email"}, "city country email phone url tags note"),
    Domain("product", dict(
        item=s(product_name, "name product product_name title item model"),
        brand=s(lambda c: synth(c).capitalize(), "brand manufacturer maker vendor make"),
        price=n(1, 2500, "price cost unit_price retail_price amount"),
        currency=closed(Lex("EUR,USD,GBP,dollars,euros,CHF", ","), "currency unit"),
        stock=i(0, 5000, "stock in_stock quantity available units_available inventory", 0.1),
        sku=s(code_str, "sku article_number product_id code item_number id"),
        material=closed(MATERIAL, "material made_of fabric"),
        weight=n(0.1, 80, "weight weight_kg mass", (1, 2)),
        rating=n(1, 5, "rating stars score average_rating", (1,), 0.3),
        reviews=i(0, 9000, "reviews review_count number_of_reviews ratings", 0),
        warranty=i(1, 10, "warranty_years warranty guarantee_years"),
        colors=arr(COLOR, "colors colours available_colors variants", 2, 5),
        features=arr(ADJ, "features properties attributes highlights", 2, 4),
        avail=flag("available in_stock is_available can_be_ordered", "It is in stock.|It is available now.|You can order it today.", "It is sold out.|It is out of stock.|Currently not available."),
        used=flag("used second_hand is_used", "It is used.|This is a second-hand item.|It has been used before.", "It is brand new.|It was never used.|New and unopened."),
        discount=i(5, 70, "discount discount_percent percent_off reduction", 0)),
        """The {brand} {item} costs {price} {currency}, weighs {weight} kg and comes in {colors}. [{avail}]
New in our shop: the {item} by {brand}. Made of {material}, {features}. Price {price} {currency}. [SKU {sku}]
{item}, {material}, {price} {currency}, rated {rating} of 5 \\({reviews} reviews\\). {avail}
We (have|keep) {stock} pieces of the {item} \\({sku}\\) in stock. The price is {price} {currency}.
I am selling my {color} {item} from {brand} for {price} {currency}. {used} (Pick up|Collect it) in {city}.
For sale: {item}, {weight} kg. {used} {price} {currency}. Call {phone}.
The {item} is {features}, has a {warranty} year warranty and a rating of {rating}. It costs {price} {currency}[, now {discount}% off].
(This week|Today only): {discount} percent off the {brand} {item}! Only {price} {currency}. {avail}
Article {sku}: {item}. Manufacturer {brand}. Stock {stock}. Weight {weight} kg. Price {currency} {price}.
I gave the {item} {rating} stars. It is {features}. {brand} makes good things, but {price} {currency} is a lot.
Choose between {colors}: the {item} from {brand} is now available for {price} {currency}. Warranty: {warranty} years.
Is the {color} {item} still there? Your page says {price} {currency} and article no. {sku}.""",
        """(The product is|It is|This is) the {item}.
(It is made by|The manufacturer is|The brand is) {brand}.
(It costs|The price is|You get it for) {price} {currency}.
{price} {currency} is (the price|what it costs).
We have {stock} (left|in stock|pieces).
(The article number is|SKU:) {sku}.
It is (made of|) {material}.
(It weighs|The weight is) {weight} kg.
(It has|Customers gave it) {rating} stars.
(There are|It has) {reviews} reviews.
The warranty (lasts|is) {warranty} years.
(Available in|It comes in) {colors}.
(It is|People call it) {features}.
{avail}
{used}
(You save|There is a discount of) {discount} percent.""",
        {"pricing price_info": "price currency discount", "review ratings": "rating reviews", "details specs": "weight material brand"}, "color city phone url tags note"),
    Domain("invoice", dict(
        inv=s(code_str, "invoice_number invoice_id invoice number id no"),
        vendor=s(company_name, "vendor supplier issuer from seller company biller"),
        client=s(company_name, "client customer bill_to buyer recipient to"),
        issued=s(date_str, "issue_date date issued invoice_date issued_on"),
        due=s(date_str, "due_date due payable_by pay_by deadline"),
        total=n(10, 20000, "total amount total_amount sum gross amount_due"),
        net=n(10, 15000, "net subtotal net_amount amount_before_tax"),
        tax=n(1, 3000, "tax vat tax_amount vat_amount"),
        rate=i(5, 27, "tax_rate vat_rate vat_percent tax_percent", 0),
        currency=closed(Lex("EUR,USD,GBP,CHF,euros,dollars,SEK,PLN", ","), "currency currency_code"),
        paid=flag("paid is_paid settled", "It has been paid.|The invoice is settled.|We already paid it.|Payment received.", "It is still unpaid.|The invoice has not been paid yet.|Payment is outstanding."),
        iban=s(lambda c: f"{c.pick(['DE', 'FR', 'NL', 'ES', 'CH', 'PL'])}{digits(c, 2)} {digits(c, 4)} {digits(c, 4)} {digits(c, 4)}", "iban account bank_account account_number"),
        po=s(code_str, "po_number purchase_order order_ref po order_number")),
        """Invoice {inv} from {vendor}, dated {issued}: total {total} {currency}, due {due}. [{paid}]
{vendor} billed {client} {total} {currency} \\(invoice {inv}\\). {paid} [Payment is due by {due}.]
Please (pay|transfer) {total} {currency} to {iban} by {due}. (Reference|Invoice number) {inv}. {vendor}
Attached (is|you find) invoice {inv} for {client}. Net {net}, VAT {rate}% = {tax}, total {total} {currency}. Pay by {due}.
(Dear|Hello) {person}, our invoice {inv} of {issued} over {total} {currency} is overdue. {paid} Please settle it until {due}. {vendor}
INVOICE {inv} Date: {issued} Bill to: {client} Subtotal: {net} Tax: {tax} Total: {total} {currency}
We got another bill from {vendor}: {total} {currency}, number {inv}. It was due on {due}. {paid}
For purchase order {po} we charge {client} {net} {currency} plus {tax} tax, which makes {total}. Due date: {due}.
The amount of {total} {currency} for invoice {inv} is to be paid to {vendor}, {iban}, no later than {due}.
Reminder: {client} still owes {vendor} {total} {currency} from {issued}. No. {inv}.
{issued} - {vendor} - {inv} - {net} + {tax} = {total} {currency}
Can accounting check {inv}? {vendor} wants {total} {currency} by {due} but our order {po} says otherwise. {paid}""",
        """(The invoice number is|This is invoice) {inv}.
(It was issued by|The supplier is|It comes from) {vendor}.
(The client is|It is addressed to|Bill it to) {client}.
(It was issued|It is dated) (on|) {issued}.
(It is due|Please pay) (by|on) {due}.
(The total is|The amount is|We owe) {total} {currency}.
(The net amount is|Before tax it is) {net} {currency}.
(Tax is|VAT comes to) {tax} {currency}.
(The tax rate is|VAT:) {rate} percent.
{paid}
The (account|IBAN) is {iban}.
(It refers to|Our) purchase order {po}.""",
        {"amounts totals": "net tax total", "dates": "issued due", "payment bank": "iban currency total"}, "person email city note street zip"),
    Domain("travel", dict(
        person=s(person_name, "passenger traveler name guest traveller passenger_name"),
        origin=s(city_name, "origin from departure_city departure from_city start"),
        dest=s(city_name, "destination to arrival_city arrival to_city target"),
        out=s(date_str, "departure_date date outbound_date depart travel_date"),
        ret=s(date_str, "return_date return inbound_date back_on"),
        dep=s(time_str, "departure_time departs departs_at leaves_at time"),
        arr_=s(time_str, "arrival_time arrives arrives_at lands_at"),
        flight=s(lambda c: f"{c.pick(['LH', 'KL', 'AF', 'BA', 'SK', 'UA', 'AY', 'EK'])}{c.pick(['', ' '])}{digits(c, c.rng.randint(2, 4))}", "flight flight_number flight_no number"),
        airline=closed(AIRLINE, "airline carrier operator company"),
        seat=s(lambda c: f"{c.rng.randint(1, 48)}{c.pick('ABCDEF')}", "seat seat_number place"),
        gate=s(lambda c: f"{c.pick('ABCDEFG')}{c.rng.randint(1, 60)}", "gate boarding_gate"),
        pnr=s(lambda c: "".join(c.pick("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(6)), "booking_code pnr confirmation booking_reference code"),
        pax=i(1, 9, "passengers travelers people number_of_passengers pax", 0.6),
        cls=enum("class cabin travel_class booking_class", economy="in economy|economy class", business="in business class|business", first="in first class|first class", premium="in premium economy|premium class"),
        fare=n(20, 3000, "price fare cost ticket_price amount"),
        bag=flag("luggage has_luggage checked_bag baggage_included", "A suitcase is included.|I have a bag to check in.|Checked baggage is included.", "Hand luggage only.|No checked bags.|I travel without luggage."),
        refund=flag("refundable can_be_refunded is_refundable", "The ticket is refundable.|You can get your money back.", "The fare is non-refundable.|No refunds."),
        stops=arr(city_name, "stops via stopovers layovers route", 1, 3)),
        """I (need|want|would like) to fly from {origin} to {dest} on {out} and come back on {ret}. [{pax} passengers,] [{cls}.] [{bag}]
{person} flies from {origin} to {dest} with {airline} on {out}, flight {flight}, seat {seat}. [{bag}]
Flight {flight} to {dest} leaves {origin} at {dep} from gate {gate} and arrives at {arr_}.
Booking {pnr} confirmed: {person}, {origin} - {dest}, {out}, departure {dep}, {cls}. Total {fare}. [{refund}]
(Please book|Can you book|Could you get) a ticket to {dest} for {person}? Leaving {origin} {out}, back {ret}, {cls}. {bag}
The train to {dest} departs from {origin} at {dep} and gets there at {arr_}. A ticket is {fare}. {refund}
We go from {origin} via {stops} to {dest}. Departure is {out} at {dep}. There are {pax} of us.
To {dest} on {out}: {airline} {flight}, from {origin} {dep}, {fare} per person. {refund}
My flight {flight} from {origin} was delayed; I arrive in {dest} at {arr_} instead. Seat {seat}, booking {pnr}.
Boarding pass {person} {flight} {origin} to {dest} {out} gate {gate} seat {seat}
{pax} people, {origin} to {dest}, out {out}, return {ret}, {cls}, budget about {fare} each.
Hi mom, I land in {dest} at {arr_} on {out}. I come with {airline} from {origin}, flight {flight}. {bag}""",
        """(We leave|I start|Departure is) from {origin}.
(The destination is|I am going to|We are flying to|It goes to) {dest}.
(I leave|Departure|The outbound flight is) on {out}.
(I return|I come back|The way back is) on {ret}.
(It departs|We take off|The plane leaves) at {dep}.
(It arrives|We land|Arrival is) at {arr_}.
The flight number is {flight}.
(The airline is|We fly with) {airline}.
(My seat is|Seat) {seat}.
(Boarding is at|Please go to) gate {gate}.
(The booking code is|Confirmation:) {pnr}.
(There are|We are) {pax} passengers.
I (travel|fly|booked) {cls}.
(The fare is|It costs|I paid) {fare}.
{bag}
{refund}
(We stop|It goes) (in|via) {stops}.
(The passenger is|Booked for) {person}.""",
        {"route trip": "origin dest", "from departure": "origin dep", "to arrival": "dest arr_", "dates": "out ret"}, "email phone note"),
    Domain("booking", dict(
        guest=s(person_name, "guest name guest_name booked_by customer reservation_name"),
        place=s(lambda c: f"{c.pick(['Hotel', 'Restaurant', 'Villa', 'Hostel', 'Cafe', 'Guesthouse', 'Bistro'])} {c.pick([synth, NOUN])(c).capitalize()}", "hotel restaurant place property venue where"),
        arrive=s(date_str, "check_in arrival from start_date date arrival_date"),
        leave=s(date_str, "check_out departure until end_date to departure_date"),
        nights=i(1, 21, "nights number_of_nights stay_nights duration"),
        party=i(1, 14, "guests people party_size number_of_guests persons", 0.5),
        table_time=s(time_str, "time reservation_time at arrival_time"),
        room=enum("room room_type type room_category", single="a single room|single", double="a double room|double", suite="a suite|the suite", dorm="a bed in the dorm|dorm", family="a family room|family"),
        rate=n(30, 600, "rate price price_per_night cost nightly_rate"),
        breakfast=flag("breakfast breakfast_included with_breakfast", "Breakfast is included.|We would like breakfast.|With breakfast, please.", "Breakfast is not included.|Without breakfast.|We do not need breakfast."),
        pets=flag("pets pets_allowed has_pet", "We bring our dog.|Pets are welcome.|I travel with a cat.", "No pets.|We have no pets with us.|Pets are not allowed."),
        smoking=flag("smoking smoker smoking_room", "A smoking room, please.|We smoke.", "Non-smoking, please.|None of us smoke."),
        conf=s(code_str, "confirmation booking_id reservation_id reference confirmation_number"),
        state=enum("status state booking_status", confirmed="confirmed|now confirmed", waitlisted="on the waiting list|waitlisted", cancelled="cancelled|called off by the guest", tentative="only tentative|not yet confirmed")),
        """I would like to book {room} for {party} people from {arrive} to {leave}. [{breakfast}] [{pets}] {guest}
(Table|A table) for {party} at {table_time} on {arrive}, name {guest}. [{note}.]
Reservation {conf} at {place} is {state}: {guest}, {nights} nights from {arrive}. [{breakfast}]
{guest} stays at {place} in {city} from {arrive} until {leave} \\({nights} nights\\) and pays {rate} per night.
Dear {place}, (do you have|is there) {room} for {nights} nights starting {arrive}? We are {party}. {pets} {smoking} Best regards, {guest}
Hi, this is {guest}. Could you hold a table for {party} on {arrive} around {table_time}? My number is {phone}.
Your stay at {place}: check-in {arrive}, check-out {leave}, {room}, {rate} per night. {breakfast} Confirmation {conf}.
Cancel my booking {conf} please, {guest}, {place}, {arrive}. It was {room}.
We are coming with {party} people to {place} on {arrive} at {table_time}. {smoking} {guest}
{nights} nights, {party} guests, {room}, {rate} a night, {breakfast} {email}
From {arrive} till {leave} {room} at {place} is reserved for {guest}. The booking is {state}. {pets}
{guest} here, we had booked for {party} at {table_time}, can we change that to {arrive}? {note}.""",
        """(We need|I would like|Please book) {room}.
(We arrive|I arrive|Check-in is) on {arrive}.
(We leave|Check-out is|I depart) on {leave}.
(We stay|It is for) {nights} nights.
(We are|There will be|It is for) {party} people.
(The table should be|Please reserve) for {table_time}.
(The rate is|It costs) {rate} per night.
{breakfast}
{pets}
{smoking}
(The confirmation is|Booking number) {conf}.
The booking is {state}.
(The booking is under|It is booked for|Name:) {guest}.
(We chose|I mean|It is at) {place}.""",
        {"stay dates period": "arrive leave nights", "guest contact": "guest email phone", "room_info room": "room rate"}, "email phone city note"),
    Domain("sensor", dict(
        sensor=s(host_str, "sensor sensor_id device id node source"),
        temp=n(-25, 95, "temperature temp temperature_c celsius degrees", (1,)),
        hum=i(5, 99, "humidity humidity_percent relative_humidity rh", 0),
        press=n(950, 1050, "pressure pressure_hpa hpa", (1,)),
        volt=n(1, 48, "voltage volts battery_voltage v", (1, 2)),
        batt=i(1, 100, "battery battery_percent battery_level charge", 0),
        room=closed(ROOM, "room location place area site"),
        stamp=s(lambda c: f"{iso_date(c)}{c.pick(['T', ' '])}{c.rng.randint(0, 23):02}:{c.rng.randint(0, 59):02}{c.pick(['', ':' + digits(c, 1) + '5', 'Z'])}".replace(":65", ":05").replace(":75", ":15").replace(":85", ":25").replace(":95", ":35"), "timestamp time recorded_at ts measured_at"),
        level=enum("level severity status alert", ok="ok|all fine|everything normal", warning="a warning|warning", error="an error|error", critical="critical|a critical alarm"),
        online=flag("online connected is_online alive", "The device is online.|It is connected.|It responds.", "The device is offline.|It is not connected.|It does not respond."),
        alarm=flag("alarm alert triggered alarm_raised", "The alarm went off.|An alarm was raised.|It triggered an alarm.", "No alarm was raised.|The alarm stayed silent.|No alarm."),
        reads=Slot("[number]", numbers(number(0, 100, (1,)), 2, 5), "readings values samples measurements data"),
        counts=Slot("[integer]", numbers(integer(0, 500, 0), 2, 5), "counts numbers pulses hits series"),
        fw=s(version_str, "firmware firmware_version version fw")),
        """[{stamp}] {sensor}: temperature {temp} C, humidity {hum}%, battery {batt}%. [{alarm}]
The sensor {sensor} in the {room} (reports|shows|measured) {temp} degrees and {hum} percent humidity at {stamp}. {alarm}
{stamp} {sensor} temp={temp} hum={hum} press={press}
(Readings|Values) from {sensor}: {reads}. Battery at {batt} percent. {online}
In the {room} it is {temp} degrees[, humidity {hum}%][, pressure {press} hPa]. Measured by {sensor}.
{stamp} - {sensor} - {level} - voltage {volt} V. {online}
It was {temp} degrees in the {room} when I checked at {stamp}. {sensor} says {level}.
Device {sensor} \\(firmware {fw}\\) counted {counts}. {online} Battery: {batt}%.
{sensor} raised {level} at {stamp}: {temp} C in the {room}. {alarm}
Battery of {sensor} is down to {batt}% \\({volt} V\\). {online} Last values {reads}.
Pressure {press} hPa, temperature {temp} C, humidity {hum}. Station {sensor}, {room}.
{room}: {temp} C / {hum} % / {level}""",
        """(The temperature is|It is|We measured|The thermometer shows) {temp} degrees.
(Humidity is|The humidity was) {hum} percent.
(The pressure is|Pressure:) {press} hPa.
(The voltage is|We see) {volt} volts.
(Battery at|The battery is at) {batt} percent.
(The sensor is|It is installed) in the {room}.
(Recorded|Measured) at {stamp}.
(The status is|It says) {level}.
{online}
{alarm}
(The readings are|Values were|It measured) {reads}.
(The counts were|It counted) {counts}.
(The sensor is called|Device:) {sensor}.
(Firmware|It runs firmware) {fw}.""",
        {"power battery_info": "volt batt", "climate environment measurement": "temp hum press", "device source": "sensor fw online"}, "note"),
    Domain("job", dict(
        title=s(JOB, "title job_title position role job vacancy"),
        dept=closed(DEPT, "department team division unit"),
        lo=i(20000, 90000, "min_salary salary_min salary_from minimum", 0),
        hi=i(60000, 200000, "max_salary salary_max salary_to maximum", 0),
        skills=arr(SKILL, "skills requirements required_skills must_have qualifications", 2, 4),
        benefits=arr(lambda c: c.pick(["a company car", "free lunch", "flexible hours", "a bonus", "home office", "a gym pass", "extra holidays", "a train ticket", "stock options", "training budget"]), "benefits perks offers extras", 1, 4),
        remote=flag("remote remote_possible is_remote", "You can work remotely.|Remote work is possible.|This is a remote position.", "No remote work.|The job is on site only.|You work in our office."),
        kind=enum("employment_type type contract kind", full_time="full time|a full-time job", part_time="part time|a part-time job", internship="an internship|as an intern", contract="on contract|a contractor position", temporary="temporary|for a limited time"),
        start=s(date_str, "start_date start starting from begins"),
        until=s(date_str, "deadline apply_by application_deadline closing_date"),
        years=i(1, 15, "experience years_of_experience min_experience experience_years"),
        hours=i(10, 42, "hours weekly_hours hours_per_week", 0),
        boss=s(person_name, "manager reports_to contact hiring_manager supervisor")),
        """{company} is (looking for|hiring|searching for) a {title} in {city}. You should know {skills}. [{remote}] [Salary {lo} to {hi}.]
We (have|offer) an opening for a {title} \\({kind}\\) in our {dept} team, starting {start}. Apply by {until}: {email}
{title} wanted! {company}, {city}. {years} years of experience, {skills}. We offer {benefits}. {remote}
Join {company} as {title}! {kind}, {hours} hours a week. Benefits: {benefits}. Contact {boss}, {phone}.
The {dept} department at {company} needs a {title} from {start}. You report to {boss}. The pay is between {lo} and {hi}.
I saw your ad for a {title} in {city}. I have {years} years of experience, know {skills}, and could start on {start}.
Position: {title}. Location: {city}. Type: {kind}. Pay: {lo}-{hi}. {remote} Deadline {until}.
My team in {dept} is growing: we want a {title} with {skills}. {benefits} included. Ask {boss}.
Do you know {skills}? Then become {title} at {company}. {remote} {lo} - {hi} per year.
Vacancy at {company}, {city}: {title}, {hours} h/week, from {start}, {kind}.
{boss} from {dept} asked me to post this: {title}, {kind}, {years}+ years, {skills}.
We pay {lo} at least and {hi} at most for a good {title}. {benefits}. Send your papers to {email} until {until}.""",
        """(We are looking for|We need|The position is) a {title}.
(The job is|You will work) in the {dept} department.
(The salary is|We pay) between {lo} and {hi}.
(You need|Required:|You should know) {skills}.
(We offer|Benefits include) {benefits}.
{remote}
It is {kind}.
(It starts|You start) on {start}.
(Apply|Send your application) by {until}.
(At least|We expect) {years} years of experience.
It is {hours} hours (a|per) week.
(You report to|Your manager will be|Contact) {boss}.""",
        {"salary pay compensation salary_range": "lo hi", "contact": "boss email phone", "employer company": "company city"}, "company city email phone url"),
    Domain("recipe", dict(
        dish=s(DISH, "dish name recipe title meal recipe_name"),
        serv=i(1, 12, "servings serves portions people", 0.4),
        prep=i(5, 60, "prep_time prep_minutes preparation preparation_time", 0),
        cook=i(5, 180, "cook_time cooking_minutes cooking_time minutes", 0),
        ingr=arr(FOOD, "ingredients contains needs shopping_list", 2, 6),
        veg=flag("vegetarian is_vegetarian veggie meat_free", "It is vegetarian.|No meat in it.|Suitable for vegetarians.", "Not for vegetarians.|It contains meat.|It is not vegetarian."),
        spicy=flag("spicy hot is_spicy", "It is quite spicy.|Careful, it is hot.", "It is mild.|It is not spicy."),
        diff=enum("difficulty level effort", easy="easy|really easy|simple to make", medium="medium|of medium difficulty", hard="hard|difficult|quite a challenge"),
        cal=i(80, 1400, "calories kcal energy", 0),
        cuisine=closed(Lex("Italian,Thai,French,Mexican,Indian,Greek,Turkish,Japanese,Korean,German", ","), "cuisine kitchen style origin"),
        oven=i(120, 250, "oven_temperature temperature oven_temp degrees", 0),
        cook_name=s(person_name, "author cook chef by source")),
        """For {dish} you need {ingr}. It serves {serv} and takes {cook} minutes. [{veg}]
{dish}: {ingr}. Preparation {prep} min, cooking {cook} min. {diff}. [{cal} kcal per portion.]
My grandmother's {dish} (is|makes) a {cuisine} classic for {serv} people. Take {ingr}. Bake at {oven} degrees for {cook} minutes. {veg}
Today I cooked {dish} with {ingr}. It was {diff} and took me {prep} minutes of preparation. {spicy}
{cook_name} shared the recipe of {dish}. Serves {serv}. You will need {ingr}. [{spicy}]
Buy {ingr} for tonight, we are making {dish} for {serv}. {veg}
A {cuisine} {dish}, {cal} calories, ready in {cook} minutes. {diff}. {spicy}
Mix {ingr}, put everything into the oven at {oven} degrees, wait {cook} minutes, and the {dish} is done. Enough for {serv}.
{dish} \\({cuisine}, {diff}\\) by {cook_name}. Prep: {prep} minutes. Cook: {cook} minutes. Servings: {serv}.
How many calories does {dish} have? About {cal} a portion. The main ingredients are {ingr}. {veg}
In {prep} minutes you prepare {dish}; {cook} minutes later {serv} people can eat. Use {ingr}.
{spicy} {veg} {dish}, as {cook_name} cooks it, is made from {ingr}.""",
        """(Today we make|The recipe is for|It is called) {dish}.
(It serves|Enough for|Makes) {serv} (people|portions|).
(Preparation takes|You need) {prep} minutes (to prepare it|of preparation).
(Cook it|It cooks) for {cook} minutes.
(You need|Ingredients:|Take) {ingr}.
{veg}
{spicy}
It is {diff}.
(It has|One portion has) {cal} (calories|kcal).
It is {cuisine} (food|cooking).
(Heat the oven to|Bake at) {oven} degrees.
(The recipe is by|I got it from) {cook_name}.""",
        {"time times timing": "prep cook", "nutrition": "cal veg"}, "tags url note"),
    Domain("meeting", dict(
        topic=s(lambda c: c.pick([lambda: f"the {TAG(c)} {c.pick(['plan', 'review', 'update', 'roadmap', 'problem', 'budget'])}", lambda: f"{DEPT(c)} {c.pick(['sync', 'retro', 'kickoff', 'standup', 'planning'])}", lambda: f"{company_name(c)} {c.pick(['contract', 'proposal', 'demo', 'call'])}"])(), "topic subject title about agenda meeting"),
        date=s(date_str, "date day when on"),
        start=s(time_str, "time start start_time at begins"),
        mins=i(10, 180, "duration minutes duration_minutes length length_minutes", 0),
        who=arr(lambda c: c.pick([first_name, person_name])(c), "attendees participants people invitees members with", 2, 5),
        room=s(VENUE, "room location place where"),
        chair=s(person_name, "organizer chair host called_by moderator"),
        recurring=flag("recurring repeats weekly is_recurring", "It repeats every week.|This is a recurring meeting.|We do this weekly.", "It is a one-off.|It does not repeat.|Just this once."),
        actions=arr(lambda c: f"{c.pick(['update', 'send', 'check', 'prepare', 'review', 'print', 'book', 'fix'])} the {c.pick(['slides', 'report', 'numbers', 'contract', 'room', 'budget', 'website', 'invoice', 'minutes'])}", "action_items todos tasks actions next_steps", 1, 4),
        decision=s(lambda c: f"we {c.pick(['postpone', 'approve', 'drop', 'start', 'move', 'extend'])} the {TAG(c)} {c.pick(['project', 'release', 'test', 'order', 'campaign'])}", "decision outcome result conclusion")),
        """(Let's meet|We should meet) on {date} at {start} in {room} to (talk about|discuss) {topic}. (It will take|Plan) {mins} minutes. [{recurring}]
Meeting about {topic}: {date}, {start}, {room}. Attendees: {who}. [Duration: {mins} min.]
{chair} invited {who} to a meeting on {topic}. It is on {date} at {start}. {recurring}
Hi {who}, can we move {topic} to {date}, {start}? {room} is free then. {chair}
Minutes of {date}: present were {who}. Topic: {topic}. Decision: {decision}. To do: {actions}.
In today's call on {topic} {decision}. Next steps: {actions}. Next call {date}.
Reminder: {topic} with {who}, {start}, {room}, about {mins} minutes.
We met to discuss {topic}. {who} were there. In the end {decision}. {chair} will {actions}.
{start} {topic} \\({mins} min\\) - {chair}, {who} - {room}
{who} please block {date} from {start} on for {topic}. {recurring}
{decision}, that is the result of {topic} on {date}. Open points are {actions}. Chair: {chair}.
The {mins} minute slot at {start} on {date} is for {topic}; {chair} moderates; {recurring}""",
        """(The topic is|We talk about|It is about) {topic}.
(We meet|The meeting is) on {date}.
(It starts|We start) at {start}.
(It takes|Plan for|It lasts) {mins} minutes.
({who} will join|With {who}|Participants are {who}).
(We meet in|The room is|Place:) {room}.
(The organizer is|{chair} called the meeting, so ask) {chair}.
{recurring}
(To do|Next steps|Action items): {actions}.
(We decided:|Decision:) {decision}.""",
        {"schedule when time_slot": "date start mins"}, "email url note tags"),
    Domain("shipment", dict(
        track=s(code_str, "tracking_number tracking parcel_id shipment_id tracking_id"),
        carrier=closed(CARRIER, "carrier shipping_company courier service shipped_with"),
        sender=s(person_name, "sender from shipper sent_by"),
        receiver=s(person_name, "recipient to receiver addressee consignee"),
        src=s(city_name, "origin from_city from source sent_from"),
        dst=s(city_name, "destination to_city to target city"),
        weight=n(0.2, 70, "weight weight_kg kg mass", (1, 2)),
        parcels=i(1, 30, "parcels packages pieces boxes package_count", 0.4),
        eta=s(date_str, "eta delivery_date expected arrives_on estimated_delivery"),
        status=enum("status state delivery_status", in_transit="in transit|on the way", delivered="delivered|already delivered", lost="lost|missing", delayed="delayed|running late", returned="returned to sender|sent back"),
        fragile=flag("fragile is_fragile breakable", "The contents are fragile.|Careful, glass inside.|It is fragile.", "Nothing fragile inside.|It is not fragile.|The contents cannot break."),
        insured=flag("insured insurance is_insured", "The parcel is insured.|Insurance is included.", "It is not insured.|Sent without insurance."),
        items=arr(product_name, "contents items content goods", 1, 3)),
        """Your parcel {track} from {sender} is {status}. {carrier} will deliver it on {eta}. [Weight: {weight} kg.]
{sender} sends {parcels} boxes from {src} to {receiver} in {dst} with {carrier}. [{fragile}]
Shipment {track}: {src} to {dst}, {weight} kg, {parcels} pieces, {status}, ETA {eta}.
The package with {items} for {receiver} left {src}. {insured} Tracking number {track}. {fragile}
Where is my parcel? The number is {track}, {carrier} says it is {status}. It should have come on {eta}. {receiver}, {dst}
Please pick up {parcels} packages in {src} and bring them to {dst}. Recipient: {receiver}. {fragile} {insured}
{receiver} got the {items} that {sender} had sent from {src}. It came with {carrier}.
From {sender}, {src} - to {receiver}, {dst} - {weight} kg - {carrier} {track}
We shipped {items} to {dst} today by {carrier}. Expect it on {eta}. {insured}
Good news, {receiver}: {carrier} has your {items}, it is {status} and comes on {eta}.
{carrier} {track}, {weight} kg, to {receiver}, {street}, {zip} {dst}. {fragile}
{parcels} parcels from {sender} to {receiver} are {status} in {dst}.""",
        """(The tracking number is|Tracking:) {track}.
(It is shipped with|The carrier is) {carrier}.
(It was sent by|The sender is) {sender}.
(It is for|The recipient is|Deliver it to) {receiver}.
(It comes|It was sent) from {src}.
(It goes to|The destination is) {dst}.
(It weighs|The weight is) {weight} kg.
(There are|In total) {parcels} (parcels|boxes).
(It should arrive|Expected|The ETA is) on {eta}.
(It is|The status is) {status}.
{fragile}
{insured}
(It contains|Inside:) {items}.""",
        {"route": "src dst", "parties people": "sender receiver", "package parcel": "weight parcels track"}, "street zip phone note"),
    Domain("book", dict(
        title=s(title_name, "title name book book_title film movie album"),
        author=s(person_name, "author writer by director written_by artist"),
        year=Slot("integer", year, "year published publication_year release_year released"),
        pages=i(60, 1200, "pages page_count number_of_pages length", 0),
        genre=closed(GENRE, "genre category kind"),
        isbn=s(lambda c: f"978-{digits(c, 1)}-{digits(c, 4)}-{digits(c, 4)}-{digits(c, 1)}", "isbn isbn13 code"),
        pub=s(company_name, "publisher publishing_house published_by label studio"),
        rating=n(1, 10, "rating score stars grade", (1,), 0.4),
        lang=closed(LANGUAGE, "language original_language lang"),
        rec=flag("recommended recommend would_recommend", "I recommend it.|You should read it.|I can warmly recommend it.", "I cannot recommend it.|Do not bother.|I would not recommend it."),
        cast=arr(person_name, "cast actors characters contributors starring", 2, 4),
        themes=arr(lambda c: NOUN(c), "themes topics motifs subjects", 2, 4)),
        """{title} by {author} was published in {year} by {pub}. It has {pages} pages[ and is a {genre}]. [{rec}]
I just finished {title}, a {genre} by {author}. {rec} My rating: {rating} out of 10.
{author} wrote {title} in {year}. The original language is {lang}. [ISBN {isbn}]
{title} \\({year}\\), directed by {author}, starring {cast}. {genre}. Score {rating}.
Looking for the book {title}, {author}, ISBN {isbn}. {pages} pages, {lang}.
The {genre} {title} deals with {themes}. {author} published it in {year}. {rec}
Review: {title}. {author} gives us {themes}, but {pages} pages are too many. {rating}/10.
In {year} {pub} brought out {title}, {author}'s {genre}, in {lang}.
My favorite is {title} from {year}. It's by {author}, and {cast} play in it. {rec}
{author}: {title}. {pub}, {year}. {pages} pp. {isbn}.
{rec} {title} has only {pages} pages, {author} wrote it in {lang}. I give it {rating}.
Borrowed: {title} \\({author}\\), {genre}, {year}""",
        """(The title is|It is called|The book is) {title}.
(It was written by|The author is|It is by) {author}.
(It came out|It was published|It appeared) in {year}.
It has {pages} pages.
It is a {genre}.
(The ISBN is|ISBN) {isbn}.
(The publisher is|It was published by) {pub}.
(I give it|It gets|Rating:) {rating} (points|).
(It is in|The language is|Written in) {lang}.
{rec}
({cast} appear in it|With {cast}).
(It is about|Themes are) {themes}.""",
        {"publication": "year pub", "details": "pages isbn lang", "review": "rating rec"}, "tags"),
    Domain("medical", dict(
        patient=s(person_name, "patient name patient_name full_name"),
        age=i(1, 99, "age patient_age years", 0),
        sympt=arr(SYMPTOM, "symptoms complaints signs", 1, 4),
        med=s(MEDICINE, "medication drug medicine prescription"),
        dose=i(1, 1000, "dose dosage_mg dose_mg mg", 0),
        times=i(1, 6, "times_per_day daily frequency per_day", 0.5),
        doctor=s(lambda c: f"Dr. {last_name(c)}" if c.chance(0.7) else person_name(c), "doctor physician treated_by practitioner"),
        visit=s(date_str, "visit_date date appointment seen_on"),
        at=s(time_str, "time appointment_time slot"),
        temp=n(35.5, 41, "temperature body_temperature temp fever", (1,), 0.05),
        allergies=arr(lambda c: c.pick(["penicillin", "nuts", "pollen", "latex", "eggs", "dust", "shellfish", "bee stings", "aspirin", "lactose"]), "allergies allergic_to intolerances", 1, 3),
        smoker=flag("smoker smokes is_smoker", "The patient smokes.|He smokes.|She is a smoker.", "The patient does not smoke.|She does not smoke.|He is a non-smoker."),
        follow=flag("follow_up needs_follow_up return_visit", "A follow-up is needed.|Please come back for a check.", "No follow-up needed.|There is no need to come back."),
        blood=closed(Lex("A+,A-,B+,B-,AB+,0+,0-", ","), "blood_type blood_group"),
        sys=i(90, 190, "systolic bp_systolic", 0), dia=i(50, 110, "diastolic bp_diastolic", 0)),
        """{patient}, {age}, came in with {sympt}. {doctor} prescribed {med} {dose} mg, {times} times a day. [{smoker}]
Patient {patient} \\({age} years\\) complains of {sympt}. Temperature {temp} C, blood pressure {sys}/{dia}. {follow}
I would like an appointment with {doctor} on {visit} at {at}. I have {sympt}. {patient}, {phone}
{doctor} saw {patient} on {visit}. Symptoms: {sympt}. Allergies: {allergies}. [{follow}]
Take {med}, {dose} mg, {times} times daily. {doctor}, {visit}. {follow}
My daughter {patient} is {age} and has had {sympt} since {visit}, with a temperature of {temp}. She is allergic to {allergies}.
{patient} has blood type {blood} and is allergic to {allergies}. {smoker}
Appointment: {patient}, {visit}, {at}, {doctor}. Reason: {sympt}.
On {visit} {patient} was given {dose} mg of {med} by {doctor} because of {sympt}.
{smoker} {patient} is {age} years old, blood pressure {sys} over {dia}, takes {med}.
Due to {sympt}, {doctor} wants to see {patient} again on {visit}. {follow}
BP {sys}/{dia}, temp {temp}, {med} {dose} mg x{times}, {patient}""",
        """(The patient is|This is about) {patient}.
(The patient|She|He) is {age} years old.
(Symptoms are|Complains of|I have) {sympt}.
(Prescribed|Takes|I take) {med}.
The dose is {dose} mg.
(To be taken|Take it) {times} times (a|per) day.
(The doctor is|Treated by) {doctor}.
The (visit|appointment) is on {visit}.
(The appointment is at|Come at) {at}.
(The temperature is|Fever:) {temp}.
(Allergic to|Allergies:) {allergies}.
{smoker}
{follow}
Blood type {blood}.""",
        {"medication prescription treatment": "med dose times", "blood_pressure bp": "sys dia", "appointment": "visit at doctor"}, "phone email"),
    Domain("realty", dict(
        kind=enum("type property_type kind", apartment="an apartment|a flat", house="a house|a detached house", studio="a studio|a small studio", office="an office|office space", garage="a garage|a parking garage"),
        rent=i(200, 9000, "rent price monthly_rent rent_per_month cost", 0),
        area=n(12, 400, "area size square_meters sqm area_m2", (1,), 0.8),
        rooms=i(1, 9, "rooms number_of_rooms room_count", 0.4),
        baths=i(1, 4, "bathrooms baths", 0.5),
        floor=i(0, 20, "floor level story", 0),
        deposit=i(300, 9000, "deposit security_deposit", 0),
        avail=s(date_str, "available_from available move_in from free_from"),
        furn=flag("furnished is_furnished", "It is fully furnished.|Furniture is included.|It comes furnished.", "It is unfurnished.|Without furniture.|It is not furnished."),
        pets=flag("pets pets_allowed", "Pets are allowed.|Pets are fine.", "No pets allowed.|Sorry, no pets."),
        balcony=flag("balcony has_balcony", "It has a balcony.|There is a sunny balcony.", "There is no balcony.|No balcony, sorry."),
        landlord=s(person_name, "landlord owner contact agent"),
        extras=arr(lambda c: c.pick(["a garden", "an elevator", "a cellar", "a dishwasher", "a garage", "floor heating", "a fireplace", "fast internet", "a bathtub", "a pool"]), "amenities features extras equipment", 1, 4)),
        """For rent: {kind} in {city}, {rooms} rooms, {area} m2, {rent} a month. Available from {avail}. [{furn}] [{pets}]
I am looking for {kind} with {rooms} rooms in {city}, at most {rent} a month. [{pets}] {person}, {email}
{landlord} rents out {kind} at {street}, {zip} {city}: {area} square meters, {rent} plus {deposit} deposit. {balcony}
Nice place on floor {floor}, {rooms} rooms and {baths} bathrooms, with {extras}. Rent {rent}. {furn} Call {landlord}, {phone}.
{street}, {city}. {kind}, {area} m2. {rent} monthly. Deposit {deposit}. {pets} Move in {avail}.
We moved into {kind} in {city}: {rooms} rooms, {extras}. The rent is {rent}. {balcony}
{rent} for {area} m2 in {city}? Yes! {furn} {balcony} Contact {landlord} at {email}.
The flat has {rooms} rooms, {extras} and costs {rent}. You can move in on {avail}. {landlord}
Listing {code}: {kind}, {rooms} rooms, {city}, {rent}/month
{landlord} wants {deposit} as a deposit and {rent} every month; it is {kind} of {area} square meters on floor {floor}.
Free from {avail}, {kind}, {baths} bathrooms, {extras}. {pets} {furn}
Located at {street} in {city}, this is {kind} with {extras} on floor {floor}.""",
        """(It is|We offer|I rent out) {kind}.
(The rent is|It costs) {rent} (a|per) month.
(It has|The size is) {area} (square meters|m2).
(It has|There are) {rooms} rooms.
(It has|With) {baths} bathrooms.
It is on floor {floor}.
The deposit is {deposit}.
(Available|Free) from {avail}.
{furn}
{pets}
{balcony}
(The landlord is|Contact|Ask for) {landlord}.
(It comes with|There is) {extras}.""",
        {**ADDRESS, "costs": "rent deposit", "contact": "landlord phone email"}, "person city country street zip phone email code"),
    Domain("sports", dict(
        home=s(lambda c: f"{city_name(c)} {TEAM_TAIL(c)}", "home_team home team1 team host"),
        away=s(lambda c: f"{city_name(c)} {TEAM_TAIL(c)}", "away_team away team2 opponent guest"),
        hs=i(0, 12, "home_score home_goals score_home goals_home", 0.1),
        as_=i(0, 12, "away_score away_goals score_away goals_away", 0.1),
        sport=closed(SPORT, "sport discipline game"),
        venue=s(lambda c: f"{c.pick([synth, NOUN])(c).capitalize()} {c.pick(['Stadium', 'Arena', 'Park', 'Field', 'Dome'])}", "venue stadium ground place arena"),
        crowd=i(50, 80000, "attendance spectators crowd visitors fans", 0),
        scorers=arr(lambda c: c.pick([last_name, person_name])(c), "scorers goal_scorers players goals_by", 1, 4),
        coach=s(person_name, "coach trainer manager head_coach"),
        date=s(date_str, "date match_date played_on day"),
        ot=flag("overtime extra_time went_to_overtime", "The game went to overtime.|It was decided in extra time.", "It ended in regular time.|There was no overtime."),
        winner=enum("result outcome winner", home="a home win|the hosts won", away="an away win|the visitors won", draw="a draw|no winner")),
        """{home} beat {away} {hs}:{as_} at {venue} on {date}. [{crowd} fans watched.] [{ot}]
In {sport}, {home} played {away} and the score was {hs} to {as_}. Goals by {scorers}. {ot}
{date}: {home} - {away} {hs}-{as_}. Attendance {crowd}. [Scorers: {scorers}]
{crowd} people came to {venue} to see {home} against {away}. It was {winner}. {ot}
Coach {coach} of {home} was happy after the {hs}-{as_} against {away}. {scorers} scored.
What a game! {home} vs {away}, final score {hs}:{as_}, {scorers} with the goals. {ot}
The {sport} match between {home} and {away} on {date} at {venue} ended {hs} to {as_}; {winner}.
{scorers} scored for {home} against {away}. {coach} said the crowd of {crowd} helped.
Tonight at {venue}: {home} against {away}, {sport}, {date}.
{away} lost at {home} on {date}, {hs}-{as_}, in front of {crowd}.""",
        """(The home team was|At home:) {home}.
(The opponent was|They played against) {away}.
(The hosts scored|Home score:) {hs}.
(The guests scored|Away score:) {as_}.
It was {sport}.
(It was played|They met) at {venue}.
{crowd} (people|spectators) (came|watched).
(Goals by|Scored by) {scorers}.
(The coach is|Trainer:) {coach}.
{ot}
It was {winner}.
(The match was|Played) on {date}.""",
        {"score result": "hs as_", "teams": "home away"}, "city"),
    Domain("server", dict(
        host=s(host_str, "host server hostname machine node"),
        ip=s(ip_str, "ip ip_address address host_ip"),
        level=enum("level severity log_level", info="INFO|info", warn="WARN|warning", error="ERROR|an error", fatal="FATAL|fatal", debug="DEBUG|debug"),
        msg=s(lambda c: c.pick(["connection refused", "disk almost full", "user logged in", "timeout while reading", "cache cleared", "certificate expired", "out of memory", "backup finished", "job started", "retry limit reached", "file not found", "permission denied", "queue is empty", "config reloaded"]), "message msg text event error"),
        svc=s(lambda c: f"{c.pick(['auth', 'mail', 'order', 'search', 'pay', synth(c)])}-{c.pick(['service', 'api', 'worker', 'db'])}", "service app component process application"),
        port=i(20, 65000, "port port_number tcp_port", 0),
        code=i(100, 599, "status_code code http_status exit_code", 0),
        ms=i(1, 9000, "duration_ms latency latency_ms response_time elapsed_ms", 0),
        user=s(lambda c: ascii_(first_name(c)) + c.pick(["", digits(c, 2), "_" + synth(c, 1, 1)]), "user username account login"),
        when=s(lambda c: f"{iso_date(c)} {c.rng.randint(0, 23):02}:{c.rng.randint(0, 59):02}:{c.rng.randint(0, 59):02}", "timestamp time logged_at at"),
        cpu=n(0, 100, "cpu cpu_percent cpu_load load", (1,)),
        mem=i(1, 512, "memory_gb memory ram ram_gb", 0),
        up=flag("up running healthy is_running", "The service is running.|It is up again.|All checks pass.", "The service is down.|It is not running.|The health check fails."),
        ver=s(version_str, "version release app_version"),
        tags_=arr(TAG, "tags labels groups", 1, 3)),
        """{when} {level} {svc}: {msg} \\(user={user}, ip={ip}\\)
[{when}] {level} {host} {svc} {msg} code={code} took {ms}ms
The server {host} \\({ip}\\) runs {svc} on port {port}. [CPU {cpu}%, memory {mem} GB.] {up}
At {when} the {svc} on {host} logged {level}: {msg}. {up}
{user} logged in from {ip} at {when}. Service {svc}, version {ver}.
Request by {user} to {svc} returned {code} after {ms} ms. {msg}.
Deploy {svc} {ver} to {host}, port {port}. Tags {tags_}.
{host} shows {cpu} percent CPU and {mem} GB memory; {svc} says {msg}.
Alert for {svc} on {host}: {msg} \\({level}\\). {up} {when}
ip {ip} port {port} host {host} service {svc} state {msg}""",
        """(The host is|It happened on) {host}.
(The address is|Its IP is) {ip}.
(The level is|It logged) {level}.
(The message was|It says|Log:) {msg}.
(The service is|It is about) {svc}.
It listens on port {port}.
(It returned|The status code was) {code}.
(It took|Latency was) {ms} ms.
(The user was|Logged in as) {user}.
(Logged at|The time was) {when}.
(CPU is at|The load is) {cpu} percent.
(It has|Memory:) {mem} GB.
{up}
(It runs|Deployed) version {ver}.""",
        {"request http": "code ms", "server machine": "host ip port", "resources": "cpu mem"}, "person"),
    Domain("feedback", dict(
        author=s(person_name, "author name reviewer customer from by"),
        subject=s(lambda c: c.pick([product_name, lambda c: f"{c.pick(['Hotel', 'Cafe', 'Restaurant'])} {synth(c).capitalize()}", title_name])(c), "subject product reviewed about what item"),
        stars=i(1, 5, "stars rating score star_rating", 0.5),
        mood=enum("sentiment mood tone opinion", positive="I loved it|great|I am very happy with it|wonderful|fantastic", negative="terrible|I am very disappointed|awful|what a waste of money|I hated it", neutral="it is okay|so-so|nothing special|average"),
        pros=arr(lambda c: c.pick(["good sound", "fast delivery", "low price", "nice color", "friendly staff", "long battery life", "easy to clean", "great view", "solid build", "fresh food", "quiet rooms"]), "pros advantages liked positives", 1, 3),
        cons=arr(lambda c: c.pick(["bad packaging", "too heavy", "slow service", "high price", "weak battery", "noisy fan", "poor manual", "small screen", "rude waiter", "cold soup", "thin walls"]), "cons disadvantages disliked negatives", 1, 3),
        again=flag("would_buy_again recommend recommended buy_again", "I would buy it again.|I would recommend it.|I will come back.", "I would not buy it again.|Never again.|I cannot recommend it."),
        date=s(date_str, "date reviewed_on visited written_on"),
        verified=flag("verified verified_purchase is_verified", "Verified purchase.|The purchase is verified.", "Not a verified purchase.|The purchase is not verified.")),
        """{subject}: {mood}! {stars} stars. I liked: {pros}. Not so good: {cons}. {again} {author}
I bought the {subject} on {date}. {mood}. Pros: {pros}. Cons: {cons}. [{verified}]
{author} gave {subject} {stars} out of 5. {again}
Review of {subject} by {author}: {mood}. {pros}, but {cons}. {stars}/5
{stars} stars for {subject}. {mood}. {again} {verified}
On {date} {author} wrote about {subject}: {mood}.
We tried {subject}. The good: {pros}. The bad: {cons}. {again}
{mood}. {subject} has {pros}. {author}, {date}
Only {stars} stars because of {cons}, says {author} about {subject}.
After a month with the {subject} I can say: {mood}. {again}""",
        """(It is about|I reviewed|We tested) the {subject}.
(I give it|It gets|My rating is) {stars} stars.
{mood}.
(I liked|Pros:|On the plus side:) {pros}.
(I did not like|Cons:|On the minus side:) {cons}.
{again}
(Written by|The reviewer is) {author}.
(Written|Posted) on {date}.
{verified}""",
        {"review summary": "stars mood", "opinion": "pros cons"}, "city email"),
    Domain("vehicle", dict(
        brand=closed(BRAND, "brand make manufacturer"),
        model=s(MODEL, "model model_name type"),
        year=Slot("integer", year, "year model_year built first_registration"),
        km=i(500, 290000, "mileage kilometers km odometer", 0),
        plate=s(lambda c: f"{c.pick(['B', 'M', 'HH', 'K', 'OS'])}-{''.join(c.pick('ABCDEFGHKLMNPRSTXYZ') for _ in range(2))} {digits(c, 3)}", "license_plate plate registration plate_number"),
        fuel=enum("fuel fuel_type engine drive", petrol="petrol|runs on petrol", diesel="diesel|a diesel engine", electric="electric|fully electric", hybrid="hybrid|a hybrid"),
        price=i(500, 90000, "price asking_price cost amount", 0),
        owner=s(person_name, "owner seller driver name keeper"),
        broken=arr(PART, "defects broken_parts repairs parts issues", 1, 3),
        auto=flag("automatic is_automatic automatic_gearbox", "It has an automatic gearbox.|It is an automatic.", "Manual gearbox.|It has a stick shift."),
        accident=flag("accident had_accident damaged", "It had an accident.|The car was in an accident.", "It never had an accident.|Accident free."),
        doors=i(2, 5, "doors number_of_doors", 0.4),
        done=s(date_str, "service_date date inspected last_service")),
        """For sale: {brand} {model}, built {year}, {km} km, {color}, {fuel}. {price} euros. [{accident}] Call {owner}, {phone}.
My {brand} {model} \\({plate}\\) needs new {broken}. {owner}, {phone}
{owner} drives a {color} {brand} {model} from {year}. It is {fuel}. {auto}
Service on {done}: {brand} {model}, plate {plate}, {km} km. Replaced: {broken}.
I'm selling my {year} {model} by {brand} with {km} kilometers for {price}. {auto} {accident}
The {broken} of my {brand} stopped working on {done}. Plate: {plate}. Owner: {owner}.
Wanted: {brand} {model}, {doors} doors, {fuel}, at most {price}. {auto} {email}
{plate}, {brand} {model}, {year}, {color}, {doors} doors, {owner}
Rented a {color} {model}, it was {fuel}. {auto} At the end it had {km} km on the clock.
With {km} km the {brand} {model} of {owner} is still worth {price}. {accident}""",
        """(It is|I drive) a {brand}.
(The model is|It is called) {model}.
(Built in|It is from) {year}.
(It has|The mileage is) {km} km.
(The plate is|License plate) {plate}.
It is {fuel}.
(I want|The price is|It costs) {price}.
(The owner is|It belongs to) {owner}.
(Broken:|It needs new|We replaced) {broken}.
{auto}
{accident}
It has {doors} doors.
(Inspected|Last service) on {done}.""",
        {"car vehicle": "brand model year", "owner seller": "owner phone email"}, "color phone email city"),
    Domain("course", dict(
        course=s(lambda c: f"{c.pick(['Introduction to', 'Advanced', 'Basics of', 'Applied', 'Practical'])} {SUBJECT(c)}", "course title course_name class name subject"),
        teacher=s(person_name, "teacher instructor lecturer taught_by professor"),
        credits=i(1, 12, "credits ects points"),
        students=i(4, 400, "students enrolled participants class_size", 0),
        day=Slot("string", same(lambda c: c.pick(DAYS)), "day weekday taught_on", options=Lex(",".join(DAYS), ",")),
        at=s(time_str, "time start starts_at"),
        room=s(lambda c: f"{c.pick(['Room', 'Hall', 'Lab'])} {c.pick('ABCDE')}{digits(c, 2)}", "room location hall"),
        grade=closed(Lex("A,B,C,D,A+,B-,B+,C+", ","), "grade mark result"),
        passed=flag("passed has_passed", "The student passed.|I passed.|She passed the exam.", "The student failed.|I did not pass.|He failed the exam."),
        level=enum("level difficulty", beginner="for beginners|beginner level", intermediate="intermediate|for the intermediate", advanced="for advanced students|advanced level"),
        exam=s(date_str, "exam_date exam test_date final_exam"),
        student=s(person_name, "student name pupil learner"),
        scores=Slot("[integer]", numbers(integer(0, 100, 0), 2, 5), "scores points grades results marks"),
        fee=n(20, 2000, "fee price tuition cost"), topics=arr(TAG, "topics contents modules", 2, 4)),
        """{course} is taught by {teacher} on {day} at {at} in {room}. It gives {credits} credits. [It is {level}.]
{student} took {course} and got a {grade}. {passed} [The exam was on {exam}.]
Sign up for {course}! {teacher}, {day}, {at}. {students} students already joined. The fee is {fee}.
I want to register for {course} with {teacher}. My name is {student}. Is it {level}?
Results of {student}: {scores}. Grade {grade}. {passed}
The exam for {course} is on {exam} in {room}. {students} students are registered. {teacher}
This term {teacher} offers {course} \\({credits} ECTS\\), covering {topics}.
{day} {at} {room} {course} {teacher}
In {course} {student} scored {scores}, which means {grade}. {passed}
{teacher} moved {course} to {day}, {at}, {room}. The topics are {topics}.""",
        """(The course is|I take|It is called) {course}.
(It is taught by|The teacher is) {teacher}.
(It gives|It is worth) {credits} credits.
{students} students (are enrolled|take part).
It is (held|) on {day}.
It starts at {at}.
(We meet in|The room is) {room}.
(The grade is|I got) (a|an|) {grade}.
{passed}
It is {level}.
The exam is on {exam}.
(The student is|Registered:) {student}.
(The scores were|Points:) {scores}.
(It costs|The fee is) {fee}.
(It covers|Topics:) {topics}.""",
        {"schedule time": "day at room", "exam": "exam grade passed"}, "email url"),
    Domain("weather", dict(
        city=s(city_name, "city location place town"),
        hi=i(-5, 42, "high max_temperature high_temp maximum", 0),
        lo=i(-20, 25, "low min_temperature low_temp minimum", 0),
        sky=enum("condition sky weather forecast", sunny="sunny|clear and sunny", cloudy="cloudy|overcast", rainy="rainy|rain", snowy="snowy|snow", stormy="stormy|a storm", foggy="foggy|fog"),
        wind=n(0, 120, "wind wind_speed wind_kmh", (1,), 0.6),
        rain=i(0, 100, "rain_chance precipitation chance_of_rain rain_probability", 0),
        day=s(date_str, "date day for forecast_date"),
        warn=flag("warning storm_warning alert", "There is a storm warning.|A warning is in force.", "No warnings.|There are no warnings."),
        sunrise=s(time_str, "sunrise sun_up"), sunset=s(time_str, "sunset sun_down")),
        """Weather for {city} on {day}: {sky}, high of {hi}, low of {lo}. Wind {wind} km/h. [{warn}]
In {city} it will be {sky} with {hi} degrees and a {rain} percent chance of rain. {warn}
{day}: expect {sky} in {city}, between {lo} and {hi} degrees.
Tomorrow in {city}: {sky}. Sunrise {sunrise}, sunset {sunset}. Chance of rain {rain}%.
The wind in {city} reaches {wind} km/h. It stays {sky}. Lowest {lo}, highest {hi}. {warn}
{city} {day} {hi}/{lo} {sky} wind {wind}""",
        """(It will be|Expect it to be) {sky}.
(The high is|Up to) {hi} degrees.
(The low is|Down to) {lo} degrees.
(Wind speed|The wind is) {wind} km/h.
(The chance of rain is|Rain:) {rain} percent.
(This is for|The forecast is for) {city}.
(It is valid|This is) for {day}.
{warn}
The sun rises at {sunrise}.
The sun sets at {sunset}.""",
        {"temperature temperatures": "hi lo", "sun": "sunrise sunset"}, "country"),
    # Two domains that training never sees.
    Domain("pet", dict(
        pet=s(lambda c: first_name(c), "name pet pet_name animal_name"),
        species=closed(ANIMAL, "species animal kind type"),
        breed=closed(BREED, "breed race"),
        age=i(1, 20, "age years age_years"),
        weight=n(0.3, 60, "weight weight_kg", (1,)),
        owner=s(person_name, "owner holder contact adopter"),
        chip=s(lambda c: digits(c, 9), "chip chip_number microchip"),
        vacc=flag("vaccinated is_vaccinated", "All vaccinations are done.|The animal is vaccinated.", "Not vaccinated yet.|Vaccinations are missing."),
        likes=arr(FOOD, "eats food favorite_food diet", 1, 3),
        lost=s(date_str, "missing_since lost_on date")),
        """Lost since {lost} in {city}: {pet}, a {color} {species}. {vacc} Please call {owner}, {phone}.
{owner} adopted {pet}, a {age} year old {breed}. The {species} weighs {weight} kg and eats {likes}.
{pet} the {species} \\({breed}, {age} years, {weight} kg\\) belongs to {owner}. Chip {chip}. {vacc}
We found a {color} {species} near {street} in {city}. It wears a tag that says {pet}. {email}
Our {species} {pet} loves {likes}. {vacc} {owner}""",
        """(The animal is called|Its name is) {pet}.
It is a {species}.
(The breed is|It is a) {breed}.
It is {age} years old.
It weighs {weight} kg.
(The owner is|It belongs to) {owner}.
The chip number is {chip}.
{vacc}
It likes to eat {likes}.""",
        {"animal": "pet species breed", "owner contact": "owner phone email"}, "color city street phone email", heldout=True),
    Domain("donation", dict(
        donor=s(person_name, "donor name giver from donated_by"),
        amount=n(5, 9000, "amount sum donation value", (2,), 0.6),
        currency=closed(Lex("EUR,USD,GBP,dollars,euros,pounds", ","), "currency unit"),
        cause=s(lambda c: f"the {c.pick(['animal shelter', 'school library', 'food bank', 'flood relief', 'local museum', 'tree planting', 'youth club'])}", "cause purpose for project campaign"),
        monthly=flag("monthly recurring regular", "It is a monthly donation.|The gift repeats every month.", "It is a one-time gift.|It is a single donation."),
        anon=flag("anonymous keep_anonymous is_anonymous", "Please keep my name private.|The donor wants to stay anonymous.", "You may publish the name.|The donor may be named."),
        receipt=s(code_str, "receipt receipt_number id"),
        on=s(date_str, "date donated_on received")),
        """{donor} gave {amount} {currency} to {cause} on {on}. {monthly} {anon}
I would like to donate {amount} {currency} for {cause}. {monthly} {anon} {donor}, {email}
Receipt {receipt}: {amount} {currency} received from {donor}, {city}, {on}, for {cause}.
Thank you, {donor}, for supporting {cause} with {amount} {currency}! {monthly} Receipt no. {receipt}.""",
        """(The donor is|It comes from) {donor}.
(The amount is|They gave) {amount} {currency}.
(It is for|The money goes to) {cause}.
{monthly}
{anon}
The receipt number is {receipt}.
It was received on {on}.""",
        {"donor giver": "donor email city"}, "city email phone street zip", heldout=True),
]
