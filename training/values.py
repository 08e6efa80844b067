"""Values that the texts are filled with: word lists, and generators over them.

A generator is a function of a `Ctx` and returns `(value, text)`: what the JSON holds and how the
text shows it. Strings are shown verbatim, since extraction is copying. Every word list is split in
two by a checksum of the entry, so that a test can draw words that training never saw.
"""

import random
import zlib


class Ctx:
    """Random source, and which part of the word lists may be drawn from."""

    def __init__(self, seed, unseen=False):
        self.rng = random.Random(seed)
        self.unseen = unseen

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        return items[int(self.rng.random() * len(items))]


def held(word):
    return zlib.crc32(word.encode()) % 7 == 0


class Lex:
    """A word list in two disjoint parts; falls back to the whole list where a part is too small."""

    def __init__(self, text, sep=None):
        words = [w.strip() for w in text.split(sep)] if sep else text.split()
        words = [w for w in words if w]
        seen = [w for w in words if not held(w)]
        unseen = [w for w in words if held(w)]
        self.parts = (seen or words, unseen if len(unseen) >= 3 else words)

    def __call__(self, c):
        return c.pick(self.parts[c.unseen])

    def sample(self, c, n):
        part = self.parts[c.unseen]
        return c.rng.sample(part, min(n, len(part)))


FIRST = Lex("""Anna Ben Carla David Elena Farid Grace Hiro Ingrid Jonas Karen Liam Maria Nadia Omar Priya Quentin Rosa Samir Tara Uma
Victor Wendy Xavier Yuki Zoe Alice Bruno Chloe Dmitri Esther Felix Gita Henrik Irene Jamal Kofi Lucia Marcus Nina Oscar Paula Rafael Sofia
Tobias Ursula Vera Walter Ximena Yusuf Zara Aiko Bjorn Cecile Diego Eva Fatima Georg Helga Ivan Julia Kwame Leila Mateo Noor Olga Pedro
Rita Stefan Theo Ulrich Valerie Wei Yara Amir Beatriz Colin Deepa Emil Freya Gustav Hannah Ibrahim Joanna Klaus Lina Milan Noah Olivia
Petra Ravi Simone Tomas Vikram Wanda Zainab Abel Bianca Cyrus Dora Edgar Fiona Gloria Hugo Iris Jack Kira Louis Mona Nils Otto Pia Robin
Sven Tina Viola Will Marta Emma Lucas Mia James Ethan Amelia Sean Ruth Joel Peter Sam Kate Tom Lucy Mark Laura Paul Sarah John Emily Mike
Helen Dan Rachel Chris Jenny José Zoë Renée Søren Björk Núria Łukasz André Chloé François Jürgen""")
LAST = Lex("""Smith Jones Keller Novak Tanaka Okafor Silva Rossi Weber Dubois Ivanova Khan Nguyen Garcia Larsen Petrov Cohen Haddad Moreau
Fischer Lindqvist Kowalski Mbeki Alvarez Brandt Castillo Diaz Eriksen Farrell Gupta Hughes Ito Jansen Kimura Lopez Meyer Nakamura Olsen
Patel Quinn Reyes Schmidt Thomsen Ueda Vargas Wagner Xu Yilmaz Zhang Abbott Bauer Clarke Doyle Engel Flores Gray Holt Ibarra Joshi Kaya
Lemaire Marsh Nolan Ortega Park Ramos Sato Turner Ulloa Voss Wright Young Zimmer Baker Carter Dawson Evans Foster Green Hill Irwin James
King Lewis Moore Nash Owens Price Reed Stone Taylor Ward Brown Wilson Murphy Kelly Walsh Singh Das Mehta Chen Wang Li Ali Hassan Mensah
Osei Adeyemi Santos Costa Pereira Almeida Bianchi Ricci Conti Müller Schäfer Núñez Muñoz Gómez Lefèvre Östberg Sørensen O'Brien O'Neil""")
CITY = Lex("""Berlin,Paris,Oslo,Madrid,Lisbon,Vienna,Prague,Dublin,Rome,Milan,Zurich,Geneva,Lyon,Hamburg,Munich,Krakow,Warsaw,Athens,Helsinki,
Stockholm,Copenhagen,Amsterdam,Rotterdam,Utrecht,Brussels,Ghent,Porto,Seville,Valencia,Turin,Naples,Leeds,Bristol,Glasgow,Cardiff,Belfast,
Boston,Denver,Austin,Seattle,Chicago,Toronto,Montreal,Ottawa,Lima,Bogota,Quito,Santiago,Nairobi,Accra,Lagos,Cairo,Tunis,Dakar,Mumbai,Delhi,
Chennai,Pune,Hanoi,Bangkok,Manila,Jakarta,Osaka,Kyoto,Tokyo,Sapporo,Seoul,Busan,Taipei,Perth,Sydney,Auckland,Wellington,Riga,Vilnius,Tallinn,
Salzburg,Graz,Basel,Bern,Nice,Lille,Bordeaux,Malmo,Bergen,Aarhus,New York,San Diego,Cape Town,Los Angeles,Mexico City,Buenos Aires,Tel Aviv,
Kuala Lumpur,New Delhi,St. Gallen,Zürich,São Paulo,Málaga,Köln,Salem,Portland,Dayton,Springfield,Oxford,York,Bath""", ",")
COUNTRY = Lex("""Germany,France,Norway,Spain,Portugal,Austria,Ireland,Italy,Switzerland,Poland,Greece,Finland,Sweden,Denmark,Belgium,Canada,Peru,
Chile,Kenya,Ghana,Nigeria,Egypt,India,Vietnam,Thailand,Japan,South Korea,Australia,New Zealand,Latvia,Mexico,Brazil,the Netherlands,
United Kingdom,United States,South Africa,Iceland,Croatia,Turkey,Morocco""", ",")
COLOR = Lex("red blue green black white grey yellow orange purple pink brown silver navy teal beige maroon turquoise ivory crimson olive")
MATERIAL = Lex("wooden steel leather cotton wool ceramic glass plastic bamboo linen copper oak canvas rubber marble titanium")
ADJ = Lex("""small large portable wireless foldable heavy compact digital vintage modern classic premium basic quiet rugged electric manual
organic smart slim deluxe mini waterproof adjustable ergonomic refillable solar handmade double bright soft cordless""")
THING = Lex("""lamp,chair,desk,backpack,keyboard,mouse,monitor,headphones,speaker,bottle,mug,kettle,toaster,blender,notebook,pen,tent,bicycle,
helmet,jacket,scarf,sofa,table,mirror,clock,camera,tripod,charger,cable,router,printer,scanner,drill,hammer,ladder,shovel,rake,hose,bucket,
pillow,blanket,mattress,curtain,carpet,vase,candle,basket,umbrella,wallet,watch,guitar,violin,drum,puzzle,kite,skateboard,thermos,pan,knife,
teapot,fan,heater,humidifier,projector,tablet,phone case,coffee grinder,desk lamp,bookshelf,garden hose,rain coat,yoga mat,water filter,
power bank,sleeping bag,screwdriver set,picture frame,alarm clock,bread knife,laptop stand,standing desk,usb hub,tool box,air fryer""", ",")
COMPANY_TAIL = Lex("GmbH,Ltd,Inc.,LLC,& Co.,Group,Systems,Labs,Partners,Logistics,Foods,Energy,Consulting,Works,Studio,Bank,Motors,Software,Media,AG", ",")
JOB = Lex("""software engineer,data analyst,nurse,teacher,architect,accountant,project manager,designer,electrician,chef,lawyer,pharmacist,journalist,
product manager,sales lead,technician,research scientist,office manager,plumber,translator,librarian,account executive,mechanic,dentist,
biologist,carpenter,photographer,marketing manager,security guard,team lead,backend developer,physiotherapist,civil engineer,baker,pilot,
head of finance,recruiter,consultant,surgeon,gardener,professor""", ",")
DEPT = Lex("sales,marketing,finance,engineering,support,logistics,legal,research,procurement,human resources,operations,design,quality,IT,security,production", ",")
SKILL = Lex("""Python,Rust,Java,SQL,Excel,project planning,public speaking,negotiation,welding,Photoshop,copywriting,Kubernetes,Docker,accounting,
data modelling,first aid,Go,TypeScript,React,Linux,statistics,machine learning,budgeting,interviewing,editing,CAD,forklift driving,testing,
customer service,cooking,photography,Terraform,Spanish,German,networking,bookkeeping""", ",")
HOBBY = Lex("""hiking,chess,painting,cycling,pottery,swimming,baking,reading,sailing,gardening,climbing,knitting,running,fishing,yoga,astronomy,
board games,bird watching,karate,dancing,surfing,skiing,singing,archery,origami,photography""", ",")
LANGUAGE = Lex("English,German,French,Spanish,Italian,Portuguese,Polish,Dutch,Swedish,Arabic,Hindi,Japanese,Korean,Mandarin,Turkish,Greek,Swahili,Finnish,Czech,Hebrew", ",")
FOOD = Lex("""flour,sugar,butter,eggs,milk,salt,basil,tomatoes,garlic,onions,rice,chicken,lentils,olive oil,lemon,spinach,mushrooms,cheese,cream,
potatoes,carrots,ginger,honey,oats,almonds,beans,pasta,tofu,pepper,cumin,yoghurt,apples,walnuts,coconut milk,soy sauce,chickpeas,parsley,peas""", ",")
DISH = Lex("""lasagna,tomato soup,pad thai,caesar salad,margherita pizza,ramen,veggie burger,fish tacos,beef stew,pumpkin curry,mushroom risotto,
apple pie,banana bread,pancakes,falafel wrap,chicken curry,onion tart,lentil soup,fried rice,spring rolls,club sandwich,greek salad""", ",")
TAG = Lex("""billing,login,mobile,network,urgent,backend,frontend,refund,shipping,security,docs,design,api,database,payments,search,performance,
onboarding,export,import,email,ios,android,printing,release,testing,travel,family,summer,recipes,health,garden,outdoor,music,finance,history""", ",")
ANIMAL = Lex("dog cat rabbit horse parrot hamster goat turtle ferret donkey pony sheep lizard duck canary".replace(" ", ","), ",")
BREED = Lex("beagle,siamese,labrador,poodle,persian,terrier,collie,dachshund,ragdoll,spaniel,husky,greyhound,tabby,boxer", ",")
GENRE = Lex("thriller,comedy,drama,fantasy,biography,mystery,romance,science fiction,horror,history,poetry,jazz,folk,documentary,western,adventure", ",")
NOUN = Lex("""river garden winter shadow harbor lantern mountain letter orchard mirror island silence journey bridge forest storm window station
castle ocean desert clock village summer signal horizon promise stone feather ember compass meadow thunder winter tower valley""")
MOOD = Lex("quiet last hidden broken golden distant secret endless burning frozen forgotten gentle crooked silver hollow restless wandering")
ROOM = Lex("kitchen,living room,bedroom,garage,attic,basement,office,hallway,bathroom,warehouse,server room,greenhouse,lobby,workshop,laboratory,boiler room,cold store", ",")
VENUE = Lex("Town Hall,Riverside Park,Hotel Astoria,Room 204,the main library,Building C,Conference Room B,City Museum,Harbor Arena,Studio 5,the Grand Theatre,Hall 7,Lakeside Pavilion,the old mill,Cafe Luna,Room 12A,the east wing,Community Center", ",")
EVENT_HEAD = Lex("Spring Annual Winter Summer Regional Global Open Charity Student Neighborhood International Autumn Founders Open-Source Green".replace(" ", ","), ",")
EVENT_TAIL = Lex("Gala,Conference,Workshop,Hackathon,Concert,Market,Marathon,Book Fair,Summit,Meetup,Festival,Exhibition,Picnic,Tournament,Film Night,Bake Sale,Lecture,Training Day", ",")
STREET = Lex("Oak Maple Cedar Main High Park Lake Hill River Church Mill Station King Queen Elm Pine Garden Bridge Market Victoria Forest Castle Spring Sunset".replace(" ", ","), ",")
STREET_TAIL = Lex("Street,Road,Avenue,Lane,Drive,Way,Court,Square,St.,Ave,Rd", ",")
AIRLINE = Lex("Lufthansa,KLM,Air France,Iberia,Finnair,Delta,Qantas,Emirates,Ryanair,SAS,Norwegian,Swiss,United,LOT", ",")
CARRIER = Lex("DHL,UPS,FedEx,Hermes,GLS,Royal Mail,PostNord,TNT,DPD,Purolator", ",")
BRAND = Lex("Toyota,Volvo,Fiat,Tesla,Ford,Renault,Skoda,Mazda,BMW,Honda,Kia,Opel,Audi,Seat", ",")
MODEL = Lex("Corolla,Punto,Focus,Clio,Octavia,Civic,Golf,Astra,Ibiza,Polo,Yaris,Micra,Model 3,A4,Leon,V60", ",")
MEDICINE = Lex("ibuprofen,amoxicillin,paracetamol,insulin,aspirin,cetirizine,metformin,lisinopril,omeprazole,prednisone,vitamin D,ramipril", ",")
SYMPTOM = Lex("headache,fever,cough,sore throat,nausea,dizziness,back pain,rash,fatigue,chest pain,insomnia,swelling,blurred vision,runny nose,stomach cramps", ",")
SPORT = Lex("football,tennis,basketball,hockey,rugby,volleyball,handball,cricket,badminton,water polo,table tennis,baseball", ",")
TEAM_TAIL = Lex("Tigers,Rovers,United,Wolves,Falcons,City,Hawks,Bears,Sharks,Comets,Lions,Wanderers,Giants,Kings", ",")
SUBJECT = Lex("mathematics,physics,chemistry,biology,history,geography,art,music,economics,philosophy,computer science,literature,statistics,law", ",")
PART = Lex("engine brakes battery clutch radiator gearbox exhaust windscreen headlight pump valve filter sensor motor fan belt compressor".replace(" ", ","), ",")
ERRWHAT = Lex("""the login page,the export button,the mobile app,our printer,the search box,the checkout,the invoice view,the dashboard,the video call,
the password reset,the map,the upload form,the calendar sync,the payment page,the report generator,the front door lock,the coffee machine,
the elevator,the VPN,the projector,the database backup,the settings menu,the camera feed,the heating""", ",")
ERRHOW = Lex("""keeps crashing,does not load,shows a blank screen,freezes after a minute,returns an error,is very slow,stopped working,
loses my changes,sends duplicate messages,times out,shows the wrong totals,rejects my password,makes a loud noise,will not open,
displays garbled text,disconnects every hour,ignores the filter,prints empty pages""", ",")
ATTR = Lex("""height,width,length,weight,depth,origin,author,owner,brand,shape,texture,flavor,finish,capacity,voltage,speed,range,output,grade,
score,level,rank,region,zone,code,label,title,theme,pattern,season,source,target,format,version,mode,status,priority,category,department,
manager,supplier,vendor,maker,sponsor,host,leader,captain,mentor,editor,driver,guardian,agent,tenant,landlord,species,habitat,diet,lifespan,
altitude,latitude,depth rating,serial number,batch,lot,shelf,aisle,bin,dock,gate,platform,seat,row,floor,unit,wing,slot,channel,frequency,
duration,interval,deadline,start date,end date,checksum,license,publisher,genre,language,currency,discount,tax rate,fee,deposit,balance,
budget,salary,bonus,premium,quota,stock,reserve,limit,threshold,minimum,maximum,average,pressure,humidity,temperature,density,hardness,
viscosity,purity,acidity,brightness,contrast,resolution,accuracy,latency,bandwidth,throughput,nickname,motto,mascot,anthem,capital,founder,
keeper,curator,dealer,operator,inspector,referee,coach,pilot,doctor,patient,ward,allergy,dosage,blood type,destination,departure,stopover""", ",")
FILLER = Lex("""Thanks a lot for your help.|Sorry for the long message.|I hope you are doing well.|Let me know if anything is unclear.|It has been a busy week here.|
As discussed yesterday, here is the summary.|Nothing else to add for now.|Have a nice day!|Please confirm when you can.|I am writing from the train, so forgive the typos.|
The weather has been terrible lately.|We look forward to hearing from you.|By the way, great work on the new website.|No rush on this.|Just a quick note.|
Hope that makes sense.|That is all I know so far.|We talked about this last week.|I will be out of the office tomorrow.|Everything else stays as it was.|
Please see the details below.|I attached a photo.|My colleague told me to write to you.|I could not find this on your page.|Sent from my phone.|
Feel free to forward this.|This is the second time I am asking.|Anyway, back to the point.|It took a while to find out.|Sorry about the confusion.|
The kids loved it, by the way.|Let us keep it simple.|I already checked twice.|It was a long day.|You know how it is.|Could you take care of it?|
Please do not reply to this address.|Thanks in advance!|Cheers for sorting this out.|As you may have heard, things are changing.|We are still waiting for the rest.|
I wrote this down during the call.|Here is what I remember.|All of this is preliminary.|Coffee is on me next time.|Not sure who should handle it.|
Somebody should double-check.|For the record:|OK, here goes.|Right, so.|Well, where do I start.|See you soon.|More to follow.|End of message.""", "|")
NOTE = Lex("""leave it with the neighbor|ring the bell twice|call before arrival|handle with care|use the back entrance|do not bend|pay on delivery|
the gate code changed|bring two copies|no onions please|needs a second look|waiting for spare parts|ask at the front desk|keep it below 8 degrees|
works only in the morning|the customer was very friendly|check the left hinge|replace the old one|follow up next week|wear sturdy shoes|
parking is behind the building|vegetarian menu for two|the deposit was already paid|send the bill by post|the box was damaged|window seat preferred|
quiet room away from the lift|late arrival after midnight|use the side gate|a bit too loud|smells of smoke|runs a little small|battery drains fast""", "|")

CONS = "b c d f g h j k l m n p r s t v w z br ch cl dr fl gr kr pl pr sh sl st th tr".split()
VOWEL = "a e i o u a e i o ai ea ou".split()
END = "n r l s t m k x nd rt ck ll sh".split()


def synth(c, lo=2, hi=3):
    """A pronounceable word that is in no list."""
    n = c.rng.randint(lo, hi)
    word = "".join(c.pick(CONS) + c.pick(VOWEL) for _ in range(n))
    return word + (c.pick(END) if c.chance(0.5) else "")


def digits(c, n):
    return "".join(c.pick("0123456789") for _ in range(n))


def same(gen):
    """Lift a function that makes a string into a generator."""

    def run(c):
        s = gen(c)
        return s, s

    return run


def first_name(c):
    return synth(c, 2, 2).capitalize() if c.chance(0.15) else FIRST(c)


def last_name(c):
    return synth(c, 2, 3).capitalize() if c.chance(0.3) else LAST(c)


def person_name(c):
    r = c.rng.random()
    if r < 0.78:
        return f"{first_name(c)} {last_name(c)}"
    if r < 0.86:
        return first_name(c)
    if r < 0.92:
        return f"{c.pick(['Dr.', 'Mr.', 'Ms.', 'Mrs.', 'Prof.'])} {last_name(c)}"
    if r < 0.97:
        return f"{first_name(c)} {c.pick('ABCDEFGHJKLMPRST')}. {last_name(c)}"
    return f"{first_name(c)} {last_name(c)}-{last_name(c)}"


def domain(c):
    return f"{c.pick([synth, lambda c: THING(c).split()[0], lambda c: NOUN(c)])(c)}.{c.pick(['com', 'org', 'net', 'io', 'de', 'co.uk', 'example', 'fr'])}"


def ascii_(s):
    return "".join(ch for ch in s.lower() if ch.isascii() and ch.isalnum()) or "info"


def email_addr(c):
    f, l = ascii_(first_name(c)), ascii_(last_name(c))
    local = c.pick([f"{f}.{l}", f"{f[0]}.{l}", f, f"{f}{digits(c, 2)}", f"{f}_{l}", l, c.pick(["info", "office", "sales", "help", "hello", "contact", "orders"])])
    return f"{local}@{domain(c)}"


def phone_no(c):
    d = lambda n: digits(c, n)
    return c.pick([lambda: f"+{c.rng.randint(1, 99)} {d(3)} {d(4)} {d(3)}", lambda: f"{d(3)}-{d(3)}-{d(4)}", lambda: f"({d(3)}) {d(3)}-{d(4)}",
                   lambda: f"0{d(3)} {d(6)}", lambda: f"{d(3)} {d(2)} {d(2)}", lambda: f"+{c.rng.randint(1, 99)}{d(9)}", lambda: f"555-{d(4)}", lambda: f"0{d(9)}"])()


def street_addr(c):
    name = synth(c).capitalize() if c.chance(0.3) else STREET(c)
    return f"{c.rng.randint(1, 240)} {name} {STREET_TAIL(c)}" if c.chance(0.8) else f"{name}{c.pick(['strasse', 'weg', 'gata', ' Platz'])} {c.rng.randint(1, 120)}"


def zip_code(c):
    return c.pick([lambda: digits(c, 5), lambda: digits(c, 4), lambda: f"{c.pick('ABCEGLMNS')}{c.pick('WENS1')}{digits(c, 1)} {digits(c, 1)}{c.pick('ABDEH')}{c.pick('XYZQ')}"])()


def city_name(c):
    return synth(c).capitalize() + c.pick(["", "", "ville", "burg", "ton"]) if c.chance(0.2) else CITY(c)


def company_name(c):
    head = c.pick([lambda: synth(c).capitalize(), lambda: last_name(c), lambda: f"{MOOD(c).capitalize()} {NOUN(c).capitalize()}", lambda: f"{last_name(c)} & {last_name(c)}",
                   lambda: f"{city_name(c)} {THING(c).split()[0].capitalize()}"])()
    return head if c.chance(0.25) else f"{head} {COMPANY_TAIL(c)}"


def product_name(c):
    r = c.rng.random()
    if r < 0.35:
        return THING(c)
    if r < 0.6:
        return f"{c.pick([COLOR, MATERIAL, ADJ, ADJ])(c)} {THING(c)}"
    if r < 0.72:
        return f"{ADJ(c)} {c.pick([COLOR, MATERIAL])(c)} {THING(c)}"
    if r < 0.86:
        return f"{synth(c).capitalize()} {THING(c)}"
    return f"{synth(c).capitalize()} {c.pick(['X', 'Pro', 'Mini', 'S', 'Max', 'GT', 'Z'])}{c.rng.randint(1, 900)}"


def title_name(c):
    return c.pick([lambda: f"The {MOOD(c).capitalize()} {NOUN(c).capitalize()}", lambda: f"{NOUN(c).capitalize()} of {synth(c).capitalize()}",
                   lambda: f"A {NOUN(c).capitalize()} in {city_name(c)}", lambda: f"{MOOD(c).capitalize()} {NOUN(c).capitalize()}s", lambda: f"{NOUN(c).capitalize()} and {NOUN(c).capitalize()}"])()


def event_name(c):
    return c.pick([lambda: f"{EVENT_HEAD(c)} {EVENT_TAIL(c)}", lambda: f"{city_name(c)} {EVENT_TAIL(c)}", lambda: f"{synth(c).capitalize()} {EVENT_TAIL(c)}",
                   lambda: f"{NOUN(c).capitalize()} {EVENT_TAIL(c)} {c.rng.randint(2019, 2031)}"])()


MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def date_str(c):
    y, m, d = c.rng.randint(1995, 2032), c.rng.randint(1, 12), c.rng.randint(1, 28)
    month = MONTHS[m - 1]
    r = c.rng.random()
    if r < 0.35:
        return f"{y}-{m:02}-{d:02}"
    if r < 0.5:
        return f"{d} {month} {y}"
    if r < 0.62:
        return f"{month} {d}, {y}"
    if r < 0.74:
        return f"{month} {d}"
    if r < 0.8:
        return f"{d:02}.{m:02}.{y}"
    if r < 0.86:
        return f"{m:02}/{d:02}/{y}"
    if r < 0.92:
        return f"{month[:3]} {d}"
    if r < 0.97:
        return c.pick(DAYS)
    return f"{month} {y}"


def iso_date(c):
    return f"{c.rng.randint(1995, 2032)}-{c.rng.randint(1, 12):02}-{c.rng.randint(1, 28):02}"


def time_str(c):
    h, m = c.rng.randint(0, 23), c.pick([0, 15, 30, 45, 10, 20, 50, 5, 40])
    return c.pick([f"{h:02}:{m:02}", f"{h}:{m:02}", f"{h % 12 + 1}{c.pick(['am', 'pm'])}", f"{h % 12 + 1}:{m:02} {c.pick(['am', 'pm', 'AM', 'PM'])}", f"{h:02}:{m:02}"])


def code_str(c):
    up = lambda n: "".join(c.pick("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(n))
    d = lambda n: digits(c, n)
    return c.pick([lambda: f"{up(2)}-{d(4)}", lambda: f"{up(3)}-{d(5)}", lambda: f"#{d(4)}", lambda: f"{up(1)}{d(3)}", lambda: f"{up(2)}{d(2)}-{d(3)}", lambda: d(6),
                   lambda: f"{up(3)}-{d(4)}-{d(2)}", lambda: "".join(c.pick("0123456789abcdef") for _ in range(8)), lambda: f"{up(4)}{d(2)}", lambda: f"{c.pick(['INV', 'ORD', 'TKT', 'REF', 'PO', 'RMA', 'SKU', 'CASE'])}-{d(c.rng.randint(3, 6))}",
                   lambda: f"{d(2)}/{d(4)}", lambda: f"{up(2)}{d(6)}"])()


def url_str(c):
    return f"{c.pick(['https://', 'https://www.', 'www.', 'http://'])}{domain(c)}{c.pick(['', '', '/' + synth(c), '/' + TAG(c) + '/' + digits(c, 3)])}"


def version_str(c):
    return f"{c.rng.randint(0, 14)}.{c.rng.randint(0, 20)}" + (f".{c.rng.randint(0, 30)}" if c.chance(0.6) else "")


def ip_str(c):
    return ".".join(str(c.rng.randint(1, 254)) for _ in range(4))


def issue_str(c):
    what = ERRWHAT(c)
    return f"{what} {ERRHOW(c)}"


def host_str(c):
    return f"{c.pick(['web', 'db', 'cache', 'node', 'edge', 'mail', synth(c)])}-{c.rng.randint(1, 40):02}"


NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()


def integer(lo, hi, words=0.25):
    """An integer; small ones are sometimes spelled, large ones sometimes grouped by commas."""

    def run(c):
        v = c.rng.randint(lo, hi) if c.chance(0.6) else c.rng.randint(lo, min(hi, lo + max(12, (hi - lo) // 20)))
        if 1 <= v <= 12 and c.chance(words):
            return v, NUMBER_WORDS[v]
        if v >= 1000 and hi > 3000 and c.chance(0.25):
            return v, f"{v:,}"
        return v, str(v)

    return run


class Verbatim(str):
    """A number whose digits go into the JSON as they stand (12.50 stays 12.50)."""


def number(lo, hi, places=(1, 2), whole=0.12):
    def run(c):
        if c.chance(whole):
            v = c.rng.randint(int(lo), max(int(hi), int(lo) + 1))
            return Verbatim(v), str(v)
        x = lo + (hi - lo) * c.rng.random() ** 2
        s = f"{x:.{c.pick(places)}f}"
        if s.startswith("-0.0") and float(s) == 0:
            s = s[1:]
        if x >= 1000 and c.chance(0.3):
            return Verbatim(s), f"{float(s):,.{len(s.split('.')[1])}f}"
        return Verbatim(s), s

    return run


def year(c):
    v = c.rng.randint(1900, 2031)
    return v, str(v)


def several(gen, lo=1, hi=4):
    """Distinct strings of one generator; shown as a list in the text."""

    def run(c):
        n = c.rng.randint(lo, hi)
        out = []
        for _ in range(n * 4):
            v = gen(c)
            if v not in out:
                out.append(v)
            if len(out) == n:
                break
        return out, enumerate_text(c, out)

    return run


def numbers(gen, lo=2, hi=5):
    def run(c):
        pairs = [gen(c) for _ in range(c.rng.randint(lo, hi))]
        return [p[0] for p in pairs], enumerate_text(c, [p[1] for p in pairs])

    return run


def enumerate_text(c, items):
    if len(items) == 1:
        return items[0]
    r = c.rng.random()
    if r < 0.5:
        return ", ".join(items[:-1]) + c.pick([" and ", " and ", ", and ", " & "]) + items[-1]
    if r < 0.85:
        return ", ".join(items)
    if r < 0.93:
        return " and ".join(items)
    return " / ".join(items)
